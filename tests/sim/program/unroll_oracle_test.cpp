#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "sim/program/unroll.hpp"

/// Random programs against the definitions, operation by operation: instances are numbered in the
/// order in which operations name them, and an operation waits for what wrote what it reads, for
/// what used what it overwrites, for computation held back and for barriers; of each other stream
/// for the last alone.
namespace lockstep {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_{seed} {}
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool once_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 random_;
};

Ref drawn_ref(Draw& draw, int tensors) {
  Ref out{static_cast<TensorId>(draw.below(tensors)), draw.below(3)};
  if (draw.once_in(4)) out.position = draw.below(6);
  if (draw.once_in(4)) out.microbatch = draw.below(4);
  return out;
}

Operation drawn_operation(Draw& draw, int tensors, int streams) {
  Operation out;
  out.kind = draw.once_in(5) ? OperationKind::receive : OperationKind::add;
  out.name = "op";
  out.stream = static_cast<StreamId>(draw.below(streams));
  for (int i = draw.below(4); i > 0; --i) out.reads.push_back(drawn_ref(draw, tensors));
  for (int i = draw.below(3); i > 0; --i) out.writes.push_back(drawn_ref(draw, tensors));
  if (draw.once_in(3)) out.ahead = draw.below(3);
  out.after_all = draw.once_in(8);
  return out;
}

/// Every tensor is resident: what nobody has written may be read.
Program drawn_program(std::uint64_t seed) {
  Draw draw{seed};
  Program out;
  out.streams = {"compute", "one", "two", "three"};
  const int tensors = 1 + draw.below(8);
  for (int i = 0; i < tensors; ++i) {
    Tensor tensor;
    tensor.name = "t";
    tensor.scope = static_cast<Scope>(draw.below(3));
    tensor.resident = true;
    out.add(std::move(tensor));
  }
  for (int i = 0; i < 4; ++i) {
    Routine routine{"routine", {}};
    for (int k = draw.below(5); k > 0; --k)
      routine.operations.push_back(drawn_operation(draw, tensors, 4));
    out.add(std::move(routine));
  }
  std::vector<Call> calls;
  for (int i = 0; i < 30; ++i)
    calls.push_back({static_cast<RoutineId>(draw.below(4)), draw.below(6), draw.below(4)});
  out.roles = {{"rank", {}, false, calls}};
  return out;
}

TensorInstance instance_of(const Program& program, const Ref& ref, const Call& call) {
  const Scope scope = program.tensors[ref.tensor].scope;
  TensorInstance out{ref.tensor, 0, 0};
  if (scope != Scope::step) out.position = ref.position.value_or(call.position + ref.further);
  if (scope == Scope::microbatch) out.microbatch = ref.microbatch.value_or(call.microbatch);
  return out;
}

/// An operation as the definitions see it.
struct Written {
  const Operation* operation = nullptr;
  std::size_t call = 0;
  std::vector<TensorInstance> reads{};
  std::vector<TensorInstance> writes{};
};

bool has(const std::vector<TensorInstance>& list, const TensorInstance& of) {
  return std::find(list.begin(), list.end(), of) != list.end();
}

std::vector<Written> written_out(const Program& program) {
  std::vector<Written> out;
  const std::vector<Call>& calls = program.roles[0].calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (const Operation& operation : program.routines[calls[c].routine].operations) {
      Written& written = out.emplace_back(Written{&operation, c});
      for (const Ref& ref : operation.reads)
        written.reads.push_back(instance_of(program, ref, calls[c]));
      for (const Ref& ref : operation.writes)
        written.writes.push_back(instance_of(program, ref, calls[c]));
    }
  }
  return out;
}

/// What an operation has to wait for on any stream, itself left out.
class Definition {
 public:
  explicit Definition(const std::vector<Written>& all) : all_{all} {}

  std::vector<std::uint32_t> after(std::uint32_t index, std::size_t streams) const {
    std::vector<std::uint32_t> waits;
    for (const TensorInstance& each : all_[index].reads) add_writer(index, each, waits);
    for (const TensorInstance& each : all_[index].writes) add_users(index, each, waits);
    if (all_[index].operation->ahead) add_computation(index, waits);
    if (all_[index].operation->after_all)
      for (std::uint32_t i = 0; i < index; ++i) waits.push_back(i);
    if (all_[index].operation->stream == kComputeStream) add_blocker(index, waits);
    std::vector<std::uint32_t> last(streams, kNone);
    for (const std::uint32_t wait : waits) {
      std::uint32_t& of = last[all_[wait].operation->stream];
      if (of == kNone || of < wait) of = wait;
    }
    last[all_[index].operation->stream] = kNone;
    std::erase(last, kNone);
    return last;
  }

 private:
  void add_writer(std::uint32_t index, const TensorInstance& of,
                  std::vector<std::uint32_t>& waits) const {
    for (std::uint32_t i = index; i-- > 0;) {
      if (!has(all_[i].writes, of)) continue;
      waits.push_back(i);
      return;
    }
  }

  /// The last writer and all that have read since.
  void add_users(std::uint32_t index, const TensorInstance& of,
                 std::vector<std::uint32_t>& waits) const {
    for (std::uint32_t i = index; i-- > 0;) {
      if (has(all_[i].writes, of)) {
        waits.push_back(i);
        return;
      }
      if (has(all_[i].reads, of)) waits.push_back(i);
    }
  }

  /// The last computation of calls before, but for as many calls that compute as it runs ahead.
  void add_computation(std::uint32_t index, std::vector<std::uint32_t>& waits) const {
    std::map<std::size_t, std::uint32_t> last;  // by call
    for (std::uint32_t i = 0; i < index; ++i)
      if (all_[i].operation->stream == kComputeStream && all_[i].call != all_[index].call)
        last[all_[i].call] = i;
    const auto ahead = static_cast<std::size_t>(*all_[index].operation->ahead);
    if (last.size() > ahead)
      waits.push_back(std::prev(last.end(), 1 + *all_[index].operation->ahead)->second);
  }

  /// A receive that holds back the compute stream, where it is the last since its last operation.
  void add_blocker(std::uint32_t index, std::vector<std::uint32_t>& waits) const {
    for (std::uint32_t i = index; i-- > 0;) {
      const Operation& operation = *all_[i].operation;
      if (operation.kind == OperationKind::receive && operation.ahead == 0) {
        waits.push_back(i);
        return;
      }
      if (operation.stream == kComputeStream) return;
    }
  }

  const std::vector<Written>& all_;
};

std::vector<TensorInstance> named(const RoleProgram& role, const IndexList& list) {
  std::vector<TensorInstance> out;
  for (const std::uint32_t instance : list) out.push_back(role.instances[instance]);
  return out;
}

}  // namespace

TEST_CASE("random programs unroll as defined") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const Program program = drawn_program(seed);
    const RoleProgram role = unroll(program, 0);
    const std::vector<Written> all = written_out(program);
    REQUIRE(role.operations.size() == all.size());
    std::vector<TensorInstance> met;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      CAPTURE(i);
      const RoleOperation& operation = role.operations[i];
      CHECK(operation.operation == all[i].operation);
      CHECK(named(role, operation.reads) == all[i].reads);
      CHECK(named(role, operation.writes) == all[i].writes);
      CHECK(operation.after == IndexList{Definition{all}.after(i, program.streams.size())});
      for (const auto* list : {&all[i].reads, &all[i].writes})
        for (const TensorInstance& each : *list)
          if (!has(met, each)) met.push_back(each);
    }
    CHECK(role.instances == met);
  }
}

TEST_CASE("a copy of a role program holds its lists on its own") {
  const Program program = drawn_program(1);
  RoleProgram copy;
  std::vector<std::uint32_t> reads;
  {
    const RoleProgram role = unroll(program, 0);
    copy = role;
    for (const RoleOperation& operation : role.operations)
      reads.insert(reads.end(), operation.reads.begin(), operation.reads.end());
  }
  std::vector<std::uint32_t> copied;
  for (const RoleOperation& operation : copy.operations)
    copied.insert(copied.end(), operation.reads.begin(), operation.reads.end());
  CHECK(copied == reads);
}

}  // namespace lockstep
