#include "sim/program/unroll.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

/// Finds instances by what they are.
class Instances {
 public:
  explicit Instances(RoleProgram& role) : role_{&role} {}

  [[nodiscard]] std::uint32_t of(const Ref& ref, const Call& call) {
    const Tensor& tensor = role_->program->tensors[ref.tensor];
    TensorInstance instance{ref.tensor, 0, 0};
    if (tensor.scope != Scope::step) {
      instance.position = ref.position.value_or(call.position + ref.further);
    }
    if (tensor.scope == Scope::microbatch) {
      instance.microbatch = ref.microbatch.value_or(call.microbatch);
    }
    const auto [found, is_new] =
        known_.try_emplace(key(instance), static_cast<std::uint32_t>(role_->instances.size()));
    if (is_new) role_->instances.push_back(instance);
    return found->second;
  }

 private:
  [[nodiscard]] static std::uint64_t key(const TensorInstance& of) {
    LOCKSTEP_CHECK(of.position >= 0 && of.position < 1 << 20);
    LOCKSTEP_CHECK(of.microbatch >= 0 && of.microbatch < 1 << 20);
    LOCKSTEP_CHECK(of.tensor < 1U << 24U);
    return (std::uint64_t{of.tensor} << 40U) | (static_cast<std::uint64_t>(of.position) << 20U) |
           static_cast<std::uint64_t>(of.microbatch);
  }

  RoleProgram* role_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

/// Who wrote an instance last, and who has read it since: of each stream the last alone.
struct Users {
  std::uint32_t writer = kNobody;
  std::vector<std::uint32_t> readers;
};

/// Finds what each operation has to wait for.
class Dependencies {
 public:
  explicit Dependencies(RoleProgram& role) : role_{&role} {}

  /// To be called before the first operation of every call.
  void begin_call() { computes_ = false; }

  void add(std::uint32_t index) {
    RoleOperation& operation = role_->operations[index];
    users_.resize(role_->instances.size());
    latest_.assign(role_->program->streams.size(), kNobody);
    for (const std::uint32_t instance : operation.reads) wait_for_writer(instance, operation);
    for (const std::uint32_t instance : operation.writes) {
      wait_for(users_[instance].writer);
      for (const std::uint32_t reader : users_[instance].readers) wait_for(reader);
    }
    if (operation.operation->ahead) wait_for_computation(*operation.operation->ahead);
    if (operation.operation->after_all) wait_for_all();
    if (operation.operation->stream == kComputeStream) wait_for(std::exchange(blocker_, kNobody));
    for (std::size_t stream = 0; stream < latest_.size(); ++stream) {
      if (stream != operation.operation->stream && latest_[stream] != kNobody) {
        operation.after.push_back(latest_[stream]);
      }
    }
    for (const std::uint32_t instance : operation.reads) read(instance, index);
    for (const std::uint32_t instance : operation.writes) {
      users_[instance].writer = index;
      users_[instance].readers.clear();
    }
    if (operation.operation->stream == kComputeStream) note_computation(index);
    issued_.resize(role_->program->streams.size(), kNobody);
    issued_[operation.operation->stream] = index;
    if (blocks(*operation.operation)) blocker_ = index;
  }

 private:
  [[nodiscard]] static bool blocks(const Operation& operation) {
    return operation.kind == OperationKind::receive && operation.ahead == 0;
  }

  [[nodiscard]] StreamId stream_of(std::uint32_t operation) const {
    return role_->operations[operation].operation->stream;
  }

  void wait_for(std::uint32_t operation) {
    if (operation == kNobody) return;
    std::uint32_t& latest = latest_[stream_of(operation)];
    if (latest == kNobody || latest < operation) latest = operation;
  }

  void note_computation(std::uint32_t index) {
    if (!computes_) last_computations_.push_back(index);
    last_computations_.back() = index;
    computes_ = true;
  }

  void wait_for_computation(int ahead) {
    const std::size_t before = last_computations_.size() - (computes_ ? 1 : 0);
    const auto skipped = static_cast<std::size_t>(ahead);
    if (before > skipped) wait_for(last_computations_[before - 1 - skipped]);
  }

  void wait_for_all() {
    for (const std::uint32_t last : issued_) wait_for(last);
  }

  void wait_for_writer(std::uint32_t instance, const RoleOperation& operation) {
    const bool written = users_[instance].writer != kNobody;
    if (!written && !role_->tensor(instance).resident) {
      throw InternalError{fmt::format("{} reads {} which nobody has written",
                                      operation.operation->name, role_->tensor(instance).name)};
    }
    wait_for(users_[instance].writer);
  }

  void read(std::uint32_t instance, std::uint32_t index) {
    std::vector<std::uint32_t>& readers = users_[instance].readers;
    const auto same = std::find_if(readers.begin(), readers.end(), [&](std::uint32_t reader) {
      return stream_of(reader) == stream_of(index);
    });
    if (same == readers.end()) {
      readers.push_back(index);
    } else {
      *same = index;
    }
  }

  RoleProgram* role_;
  std::vector<Users> users_;
  std::vector<std::uint32_t> latest_;             // per stream, while one operation is added
  std::vector<std::uint32_t> issued_;             // per stream, the last so far
  std::uint32_t blocker_ = kNobody;               // what the next of the compute stream waits for
  std::vector<std::uint32_t> last_computations_;  // of every call that computes
  bool computes_ = false;                         // whether the call under way has computed
};

[[nodiscard]] std::vector<std::uint32_t> instances_of(Instances& instances,
                                                      const std::vector<Ref>& refs,
                                                      const Call& call) {
  std::vector<std::uint32_t> out;
  out.reserve(refs.size());
  for (const Ref& ref : refs) out.push_back(instances.of(ref, call));
  return out;
}

}  // namespace

std::string RoleProgram::name(std::uint32_t operation) const {
  const RoleOperation& of = operations[operation];
  return fmt::format("block {} microbatch {}: {}", of.call.position, of.call.microbatch,
                     of.operation->name);
}

RoleProgram unroll(const Program& program, std::size_t role) {
  RoleProgram out{&program, role};
  Instances instances{out};
  Dependencies dependencies{out};
  for (const Call& call : program.roles[role].calls) {
    const Routine& routine = program.routines[call.routine];
    dependencies.begin_call();
    for (std::uint32_t i = 0; i < routine.operations.size(); ++i) {
      const Operation& operation = routine.operations[i];
      RoleOperation written{&operation, call, i};
      written.reads = instances_of(instances, operation.reads, call);
      written.writes = instances_of(instances, operation.writes, call);
      out.operations.push_back(std::move(written));
      dependencies.add(static_cast<std::uint32_t>(out.operations.size() - 1));
    }
  }
  return out;
}

}  // namespace lockstep
