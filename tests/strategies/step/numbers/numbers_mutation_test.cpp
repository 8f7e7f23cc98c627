#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/execute/run_program/execute_program.hpp"
#include "strategies/step/build_program.hpp"
#include "tests/strategies/step/step_under_test.hpp"

// What is left out of a program is found: every collective in turn, every scale factor,
// dependencies between streams. A check that cannot fail proves nothing.
namespace lockstep {
namespace {

constexpr double kSame = 1e-10;

TransformerConfig shape(bool experts = false) {
  TransformerConfig out;
  out.layers = 2;
  out.hidden = 8;
  out.heads = 4;
  out.sequence = 8;
  out.vocabulary = 12;
  if (experts) out.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 8};
  return out;
}

struct Case {
  std::string name;
  ModelConfig model;
  ParallelConfig parallel;
};

std::vector<Case> cases() {
  ParallelConfig plain;
  plain.micro_batch = 1;
  plain.global_batch = 2;
  plain.state.optimizer = Optimizer::sgd;
  std::vector<Case> out;
  const auto add = [&](std::string name, ParallelConfig parallel, bool experts = false) {
    parallel.global_batch = 2L * parallel.dp;
    out.push_back({std::move(name), test::transformer(shape(experts)), parallel});
  };
  ParallelConfig tp = plain;
  tp.tp = 2;
  add("tp", tp);
  tp.sequence_parallel = true;
  add("sp", tp);
  for (const int zero : {0, 1, 2, 3}) {
    ParallelConfig dp = plain;
    dp.dp = 4;
    dp.shard_ranks = 2;
    dp.zero = zero;
    add(fmt::format("zero {}", zero), dp);
  }
  ParallelConfig cp = plain;
  cp.cp = 2;
  cp.overlap = {Overlap::cp};
  add("ring", cp);
  cp.cp_kind = ContextKind::ulysses;
  add("ulysses", cp);
  ParallelConfig ep = plain;
  ep.dp = 4;
  ep.ep = 2;
  add("ep", ep, true);
  ParallelConfig averaging = plain;
  averaging.dp = 2;
  averaging.exchange = GradientExchange::parameter_averaging;
  add("averaging", averaging);
  return out;
}

/// A case and what one device makes of it.
class Verified {
 public:
  explicit Verified(Case of) : case_{std::move(of)} {
    ParallelConfig alone;
    alone.micro_batch = case_.parallel.micro_batch * case_.parallel.dp;
    alone.global_batch = case_.parallel.global_batch;
    alone.state = case_.parallel.state;
    alone_ = build_program(case_.model, alone, 8);
    program = build_program(case_.model, case_.parallel, 8);
    reference_ = std::make_unique<ProgramExecution>(alone_);
    for (int step = 0; step < 2; ++step) losses_.push_back(reference_->step());
  }

  [[nodiscard]] bool right(const Program& mutant, const ExecutionOptions& options = {}) {
    try {
      ProgramExecution execution{mutant, options};
      for (const double loss : losses_) {
        if (!(std::abs(execution.step() - loss) < kSame)) return false;
      }
      const WeightDifference worst = largest_difference(execution, *reference_);
      return worst.value < kSame && worst.missing.empty();
    } catch (const ExecutionError&) {
      return false;
    } catch (const InternalError&) {  // unroll(): nobody writes what is read
      return false;
    }
  }

  Program program;

 private:
  Case case_;
  Program alone_;
  std::unique_ptr<ProgramExecution> reference_;
  std::vector<double> losses_;
};

/// Calls change(operation) for every operation of a copy of the program in turn; counts those that
/// it changed, and checks that every change is found.
template <class Change>
int check_mutants(const std::string& name, Change&& change) {
  int mutants = 0;
  for (const Case& one : cases()) {
    if (!name.empty() && one.name != name) continue;
    Verified verified{one};
    REQUIRE(verified.right(verified.program));
    for (std::size_t r = 0; r < verified.program.routines.size(); ++r) {
      for (std::size_t i = 0; i < verified.program.routines[r].operations.size(); ++i) {
        Program mutant = verified.program;
        Operation& operation = mutant.routines[r].operations[i];
        if (!change(verified.program, operation)) continue;
        ++mutants;
        const std::string where = fmt::format("{}: {} of {}", one.name, operation.name,
                                              verified.program.routines[r].name);
        CAPTURE(where);
        CHECK_FALSE(verified.right(mutant));
      }
    }
  }
  return mutants;
}

TEST_CASE("a collective that everybody does alone is found") {
  const int mutants = check_mutants("", [](const Program&, Operation& operation) {
    if (operation.kind != OperationKind::collective) return false;
    operation.communication->over.clear();
    return true;
  });
  CHECK(mutants >= 60);
}

TEST_CASE("a sum that is a maximum is found") {
  const int mutants = check_mutants("", [](const Program&, Operation& operation) {
    if (operation.kind != OperationKind::collective) return false;
    if (operation.communication->collective != Collective::all_reduce) return false;
    if (operation.communication->reduction == Reduction::maximum) return false;
    operation.communication->reduction = Reduction::maximum;
    return true;
  });
  CHECK(mutants >= 10);
}

TEST_CASE("a factor that is off is found") {
  const int mutants = check_mutants("", [](const Program& program, Operation& operation) {
    const bool scales = operation.kind == OperationKind::loss_backward ||
                        operation.kind == OperationKind::loss ||
                        operation.kind == OperationKind::scale;
    // A softmax does not see what is added to all keys: that gradient is zero.
    const std::string& scaled = program.tensors[operation.reads.front().tensor].name;
    if (!scales || scaled == "attention.k.bias.gradient") return false;
    operation.factor *= 1.0001;
    return true;
  });
  CHECK(mutants >= 20);
}

TEST_CASE("gradients that replace each other instead of adding up are found") {
  for (const Case& one : cases()) {
    if (one.name != "zero 2" && one.name != "zero 3") continue;
    Verified verified{one};
    for (Routine& routine : verified.program.routines) {
      for (Operation& operation : routine.operations) {
        if (operation.kind == OperationKind::collective) operation.accumulate = false;
      }
    }
    CAPTURE(one.name);
    CHECK_FALSE(verified.right(verified.program));
  }
}

TEST_CASE("a ring that turns by another number of parts is found") {
  const int mutants = check_mutants("ring", [](const Program&, Operation& operation) {
    if (operation.ring_offset == 0) return false;
    --operation.ring_offset;
    return true;
  });
  CHECK(mutants >= 2);
}

TEST_CASE("shards in another place are found") {
  for (const Case& one : cases()) {
    Verified verified{one};
    for (std::size_t i = 0; i < verified.program.tensors.size(); ++i) {
      Program mutant = verified.program;
      Tensor& tensor = mutant.tensors[i];
      const bool sharded = !tensor.flat.empty() && tensor.category != Category::optimizer_state;
      if (!sharded) continue;
      CAPTURE(one.name);
      CAPTURE(tensor.name);
      tensor.flat = mutant.mesh.axis("replicate");
      CHECK_FALSE(verified.right(mutant));
    }
  }
}

/// What ends before an operation may begin, its own dependencies aside: all that the operations
/// before it on its stream wait for, directly or through others.
std::vector<bool> ended_before(const RoleProgram& role, std::uint32_t index) {
  std::vector<bool> ended(role.operations.size());
  std::vector<std::uint32_t> open;
  const auto add_stream_before = [&](std::uint32_t of) {
    const StreamId stream = role.operations[of].operation->stream;
    for (std::uint32_t i = of; i-- > 0;) {
      if (role.operations[i].operation->stream != stream) continue;
      open.push_back(i);
      return;
    }
  };
  add_stream_before(index);
  while (!open.empty()) {
    const std::uint32_t next = open.back();
    open.pop_back();
    if (ended[next]) continue;
    ended[next] = true;
    add_stream_before(next);
    const auto& after = role.operations[next].after;
    open.insert(open.end(), after.begin(), after.end());
  }
  return ended;
}

/// Dependencies of a role, as (operation, index into its `after`), that nothing else implies.
std::vector<std::pair<std::uint32_t, std::size_t>> needed(const RoleProgram& role) {
  std::vector<std::pair<std::uint32_t, std::size_t>> out;
  for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
    const RoleOperation& operation = role.operations[i];
    if (operation.after.size() != 1) continue;
    const RoleOperation& before = role.operations[operation.after.front()];
    const bool reads =
        std::any_of(operation.reads.begin(), operation.reads.end(), [&](std::uint32_t read) {
          return std::find(before.writes.begin(), before.writes.end(), read) != before.writes.end();
        });
    if (reads && !ended_before(role, i)[operation.after.front()]) out.emplace_back(i, 0);
  }
  return out;
}

TEST_CASE("a dependency that is forgotten is found in some order") {
  constexpr std::uint64_t kOrders = 1000;
  int mutants = 0;
  for (Case one : cases()) {
    if (one.name != "sp" && one.name != "zero 3" && one.name != "ep" && one.name != "ring")
      continue;
    // On one stream nothing can be overtaken: here all that may hide has a stream of its own.
    one.parallel.overlap = {Overlap::cp, Overlap::dp_gradients, Overlap::dp_parameters,
                            Overlap::ep, Overlap::hsdp,         Overlap::tp};
    Verified verified{one};
    const RoleProgram whole = unroll(verified.program, 0);
    const auto all = needed(whole);
    for (std::size_t number = 0; number < all.size(); number += all.size() / 8 + 1) {
      const auto [index, k] = all[number];
      ++mutants;
      CAPTURE(one.name);
      CAPTURE(whole.name(index));
      CAPTURE(whole.name(whole.operations[index].after[k]));
      bool found = false;
      for (std::uint64_t order = 1; order <= kOrders && !found; ++order) {
        ExecutionOptions options;
        options.order_seed = order;
        options.revise = [at = index](RoleProgram& role) { role.operations[at].after.clear(); };
        found = !verified.right(verified.program, options);
      }
      CHECK(found);
    }
  }
  CHECK(mutants >= 20);
}

}  // namespace
}  // namespace lockstep
