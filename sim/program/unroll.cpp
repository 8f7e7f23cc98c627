#include "sim/program/unroll.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/program/role_instances.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

/// Who wrote an instance last, and who has read it since: of each stream the last alone.
struct Users {
  std::uint32_t writer = kNobody;
  std::uint32_t readers = kNobody;  // the first of a list
};
struct Reader {
  std::uint32_t operation = 0;
  std::uint32_t next = kNobody;
};

/// Finds what each operation has to wait for.
class Dependencies {
 public:
  explicit Dependencies(const RoleProgram& role)
      : role_{&role},
        latest_(role.program->streams.size(), kNobody),
        issued_(role.program->streams.size(), kNobody) {}

  /// To be called before the first operation of every call.
  void begin_call() {
    computes_ = false;
    users_.resize(role_->instances.size());
  }

  /// Puts down what the operation has to wait for; returns the end of it.
  [[nodiscard]] std::uint32_t* add(const RoleOperation& operation, std::uint32_t* out) {
    const Operation& of = *operation.operation;
    find_latest(operation);
    for (std::size_t stream = 0; stream < latest_.size(); ++stream) {
      if (stream != of.stream && latest_[stream] != kNobody) *out++ = latest_[stream];
      latest_[stream] = kNobody;
    }
    const auto index = static_cast<std::uint32_t>(stream_of_.size());
    stream_of_.push_back(of.stream);
    for (const std::uint32_t instance : operation.reads) read(instance, index);
    for (const std::uint32_t instance : operation.writes) users_[instance] = {index, kNobody};
    if (of.stream == kComputeStream) note_computation(index);
    issued_[of.stream] = index;
    if (blocks(of)) blocker_ = index;
    return out;
  }

 private:
  [[nodiscard]] static bool blocks(const Operation& operation) {
    return operation.kind == OperationKind::receive && operation.ahead == 0;
  }

  void find_latest(const RoleOperation& operation) {
    const Operation& of = *operation.operation;
    for (const std::uint32_t instance : operation.reads) wait_for_writer(instance, operation);
    for (const std::uint32_t instance : operation.writes) {
      wait_for_buffer_before(instance);
      wait_for_users(instance);
    }
    if (of.ahead) wait_for_computation(*of.ahead);
    if (of.after_all) wait_for_all();
    if (of.stream == kComputeStream) wait_for(std::exchange(blocker_, kNobody));
  }

  void wait_for_users(std::uint32_t instance) {
    wait_for(users_[instance].writer);
    for (std::uint32_t i = users_[instance].readers; i != kNobody; i = readers_[i].next)
      wait_for(readers_[i].operation);
  }

  /// A gradient of one microbatch is written where that of the one before was, once that is
  /// reduced: however slow reductions are, whole gradients do not queue. DeepSpeed's buckets of
  /// ZeRO-2 take turns in two buffers likewise.
  void wait_for_buffer_before(std::uint32_t instance) {
    const Tensor& tensor = role_->tensor(instance);
    if (tensor.category != Category::gradient || tensor.scope != Scope::microbatch) return;
    const TensorInstance& of = role_->instances[instance];
    const auto [place, is_new] = holders_.try_emplace({of.tensor, of.position}, instance);
    if (is_new || users_[instance].writer != kNobody) return;  // it has the buffer
    wait_for_users(std::exchange(place->second, instance));
  }

  void wait_for(std::uint32_t operation) {
    if (operation == kNobody) return;
    std::uint32_t& latest = latest_[stream_of_[operation]];
    if (latest == kNobody || latest < operation) latest = operation;
  }

  void note_computation(std::uint32_t index) {
    if (!computes_) last_computations_.push_back(index);
    last_computations_.back() = index;
    computes_ = true;
  }

  void wait_for_computation(int ahead) {
    if (ahead < 0) return wait_for(issued_[kComputeStream]);
    const std::size_t before = last_computations_.size() - (computes_ ? 1 : 0);
    const auto skipped = static_cast<std::size_t>(ahead);
    if (before > skipped) wait_for(last_computations_[before - 1 - skipped]);
  }

  void wait_for_all() {
    for (const std::uint32_t last : issued_) wait_for(last);
  }

  void wait_for_writer(std::uint32_t instance, const RoleOperation& operation) {
    const std::uint32_t writer = users_[instance].writer;
    if (writer == kNobody && !role_->tensor(instance).resident) {
      throw InternalError{fmt::format("{} reads {} which nobody has written",
                                      operation.operation->name, role_->tensor(instance).name)};
    }
    wait_for(writer);
  }

  void read(std::uint32_t instance, std::uint32_t index) {
    std::uint32_t& first = users_[instance].readers;
    for (std::uint32_t i = first; i != kNobody; i = readers_[i].next) {
      if (stream_of_[readers_[i].operation] != stream_of_[index]) continue;
      readers_[i].operation = index;
      return;
    }
    readers_.push_back({index, first});
    first = static_cast<std::uint32_t>(readers_.size() - 1);
  }

  const RoleProgram* role_;
  std::vector<Users> users_;
  std::vector<Reader> readers_;
  /// Which microbatch's gradient was put last into the buffer of a tensor and a position.
  std::map<std::pair<TensorId, int>, std::uint32_t> holders_;
  std::vector<StreamId> stream_of_;               // per operation
  std::vector<std::uint32_t> latest_;             // per stream, while one operation is added
  std::vector<std::uint32_t> issued_;             // per stream, the last so far
  std::uint32_t blocker_ = kNobody;               // what the next of the compute stream waits for
  std::vector<std::uint32_t> last_computations_;  // of every call that computes
  bool computes_ = false;                         // whether the call under way has computed
};

/// How much there is to write out of a role.
struct Amount {
  std::size_t operations = 0;
  std::size_t entries = 0;  // of all lists, at the most
};

[[nodiscard]] Amount amount_of(const Program& program, const Role& role) {
  std::vector<std::size_t> calls(program.routines.size());
  for (const Call& call : role.calls) ++calls[call.routine];
  Amount out;
  std::vector<bool> uses(program.streams.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] == 0) continue;
    out.operations += calls[i] * program.routines[i].operations.size();
    for (const Operation& operation : program.routines[i].operations) {
      out.entries += calls[i] * (operation.reads.size() + operation.writes.size());
      uses[operation.stream] = true;
    }
  }
  const auto streams = static_cast<std::size_t>(std::count(uses.begin(), uses.end(), true));
  if (streams > 1) out.entries += out.operations * (streams - 1);
  return out;
}

/// Writes a role out.
class Unroller {
 public:
  Unroller(const Program& program, std::size_t role)
      : out_{&program, role}, instances_{program, role}, dependencies_{out_} {
    const Amount amount = amount_of(program, program.roles[role]);
    out_.operations.reserve(amount.operations);
    auto lists = std::make_shared_for_overwrite<std::uint32_t[]>(amount.entries);
    next_ = lists.get();
    out_.lists = std::move(lists);
  }
  Unroller(const Unroller&) = delete;
  Unroller& operator=(const Unroller&) = delete;
  ~Unroller() = default;

  [[nodiscard]] RoleProgram run() {
    for (const Call& call : out_.program->roles[out_.role].calls) add(call);
    return std::move(out_);
  }

 private:
  void add(const Call& call) {
    const Routine& routine = out_.program->routines[call.routine];
    const std::uint32_t* operands = instances_.of(call, out_.instances).data();
    dependencies_.begin_call();
    for (std::uint32_t i = 0; i < routine.operations.size(); ++i) {
      const Operation& operation = routine.operations[i];
      RoleOperation& written = out_.operations.emplace_back(RoleOperation{&operation, call, i});
      written.reads = taken(operands, operation.reads.size());
      written.writes = taken(operands, operation.writes.size());
      std::uint32_t* first = next_;
      next_ = dependencies_.add(written, first);
      written.after = {first, next_};
    }
  }

  /// The next operands, copied to where they stay.
  [[nodiscard]] IndexList taken(const std::uint32_t*& operands, std::size_t count) {
    std::uint32_t* first = next_;
    next_ = std::copy_n(operands, count, first);
    operands += count;
    return {first, count};
  }

  RoleProgram out_;
  RoleInstances instances_;
  Dependencies dependencies_;
  std::uint32_t* next_ = nullptr;  // where the next list goes
};

}  // namespace

std::string RoleProgram::name(std::uint32_t operation) const {
  const RoleOperation& of = operations[operation];
  return fmt::format("block {} microbatch {}: {}", of.call.position, of.call.microbatch,
                     of.operation->name);
}

RoleProgram unroll(const Program& program, std::size_t role) {
  return Unroller{program, role}.run();
}

RolePrograms unroll(const Program& program) {
  std::vector<RoleProgram> out;
  for (std::size_t i = 0; i < program.roles.size(); ++i) out.push_back(unroll(program, i));
  return out;
}

}  // namespace lockstep
