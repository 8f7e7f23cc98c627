#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/execute/run_program/execute_program.hpp"
#include "sim/trace/memory/memory.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "strategies/step/simulate.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/files/cluster_file.hpp"
#include "topologies/routing/lower.hpp"

// A step runs on real numbers in the order in which it is simulated, and allocates and frees as it
// goes: every input exists when an operation begins, the numbers are those of one device, and what
// was allocated is what the memory account says, to the byte.
namespace lockstep::test {
namespace {

constexpr double kSame = 1e-10;

/// Ranks on one switch, hosts behind them; messages take about as long as computation.
[[nodiscard]] Cluster star(int ranks, int hosts) {
  const std::string text = fmt::format(
      R"({{"name": "star", "summary": "test", "device": "host", "ranks": {}, "topology": {{
          "builder": "star", "link": {{"bandwidth": "10 GB/s", "latency": "1 us",
          "source": "by definition"}}}}}})",
      ranks);
  return read_cluster(parse_json(text, "star.json"), ClusterSize{std::nullopt, ranks, hosts})
      .cluster;
}

/// 1e10 operations and 1e9 bytes a second.
class Slow final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(100 * kernel.flops + 1000 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
};

/// Every kernel of some kinds takes no time at all: operations of one instant depend on each other.
class Sparse final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    const bool takes =
        kernel.of == OperationClass::matmul || kernel.of == OperationClass::optimizer;
    return takes ? Duration::picoseconds(std::llround(100 * kernel.flops) + 1) : Duration{};
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
};

struct Simulated {
  std::shared_ptr<const Program> program;
  TrainingStepTimeline timeline;
};

[[nodiscard]] Simulated simulated(const ModelConfig& model, const ParallelConfig& with,
                                  const CostModel& cost) {
  const int hosts = with.exchange == GradientExchange::parameter_server ? with.servers
                    : with.exchange == GradientExchange::host_average   ? 1
                                                                        : 0;
  SimulationOptions options;
  options.fidelity = Fidelity::all_ranks;
  options.fold = Folding::off;
  options.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
  options.host_memory = 1_GBps;
  options.host_link = 1_GBps;
  Simulated out;
  out.program = std::make_shared<const Program>(build_program(model, with, 8));
  out.timeline =
      simulate(out.program, with, star(with.ranks(), hosts), Device{}, cost, options).timeline;
  return out;
}

/// What differs between an account and what was allocated; empty: nothing.
[[nodiscard]] std::string difference(const MemoryUse& account, const AllocationUse& allocated) {
  for (std::size_t i = 0; i < std::min(account.curve.size(), allocated.curve.size()); ++i) {
    const MemoryPoint& said = account.curve[i];
    const MemoryPoint& was = allocated.curve[i];
    if (said == was) continue;
    return fmt::format("point {}: the account has {} bytes at {} ps, {} are allocated at {} ps", i,
                       said.held.total().count(), said.at.ps(), was.held.total().count(),
                       was.at.ps());
  }
  if (account.curve.size() != allocated.curve.size()) {
    return fmt::format("{} points and {}", account.curve.size(), allocated.curve.size());
  }
  if (account.peak.at != allocated.peak_at || account.peak.held != allocated.peak) {
    return fmt::format("a peak of {} at {} ps and one of {} at {} ps",
                       account.peak.held.total().count(), account.peak.at.ps(),
                       allocated.peak.total().count(), allocated.peak_at.ps());
  }
  const bool same = std::equal(account.peak.instances.begin(), account.peak.instances.end(),
                               allocated.at_peak.begin(), allocated.at_peak.end(),
                               [](const HeldInstance& a, const HeldInstance& b) {
                                 return a.instance == b.instance && a.bytes == b.bytes;
                               });
  return same ? "" : "other instances at the peak";
}

[[nodiscard]] std::string memory_difference(const Simulated& step,
                                            const ProgramExecution& execution) {
  for (const RankTimeline& rank : step.timeline.ranks) {
    const MemoryAccount account = memory_account(step.timeline.roles[rank.role], rank);
    const AllocationRecord allocated = execution.allocations(rank.rank);
    const std::string device = difference(account.device, allocated.device);
    const std::string host = difference(account.host, allocated.host);
    if (!device.empty()) return fmt::format("device of rank {}: {}", rank.rank, device);
    if (!host.empty()) return fmt::format("host of rank {}: {}", rank.rank, host);
  }
  return "";
}

[[nodiscard]] ParallelConfig single_device(const ParallelConfig& of) {
  ParallelConfig out;
  out.micro_batch = of.micro_batch * of.dp;
  out.global_batch = of.global_batch;
  out.state = of.state;
  out.state.offload = false;
  return out;
}

/// What is wrong with a layout's step in simulated order; empty: nothing.
[[nodiscard]] std::string trouble(const ModelConfig& model, const ParallelConfig& parallel,
                                  const CostModel& cost) {
  const auto problems = layout_problems(model, parallel, parallel.ranks(), 8);
  if (!problems.empty()) return problems.front().message;
  try {
    const Simulated step = simulated(model, parallel, cost);
    ExecutionOptions options;
    options.timeline = &step.timeline;
    ProgramExecution execution{*step.program, options};
    const Program alone = build_program(model, single_device(parallel), 8);
    ProgramExecution reference{alone};
    for (int i = 0; i < 2; ++i) {
      const double loss = execution.step();
      const double expected = reference.step();
      if (!(std::abs(loss - expected) < kSame)) {
        return fmt::format("loss {} where one device has {}", loss, expected);
      }
      const std::string memory = memory_difference(step, execution);
      if (!memory.empty()) return memory;
    }
    const WeightDifference worst = largest_difference(execution, reference);
    return worst.value < kSame && worst.missing.empty() ? "" : worst.text();
  } catch (const std::exception& error) {
    return error.what();
  }
}

void check(const ModelConfig& model, const ParallelConfig& parallel) {
  CHECK(trouble(model, parallel, Slow{}) == "");
  CHECK(trouble(model, parallel, Sparse{}) == "");
}

[[nodiscard]] ModelConfig gpt(bool experts = false, double dropout = 0) {
  TransformerConfig out;
  out.layers = 4;
  out.hidden = 16;
  out.heads = 4;
  out.sequence = 16;
  out.vocabulary = 32;
  out.dropout = dropout;
  if (experts) {
    out.experts = ExpertsConfig{.experts = 4, .top_k = 2, .ffn = 8, .shared = 1, .shared_ffn = 8};
  }
  return transformer(out);
}

[[nodiscard]] ParallelConfig layout(int dp = 1) {
  ParallelConfig out;
  out.dp = dp;
  out.micro_batch = 2;
  out.global_batch = 2L * dp * 2;
  out.state.optimizer = Optimizer::momentum;
  return out;
}

TEST_CASE("in simulated order: tensor and sequence parallelism") {
  for (const bool sequence_parallel : {false, true}) {
    ParallelConfig parallel = layout();
    parallel.tp = 4;
    parallel.sequence_parallel = sequence_parallel;
    check(gpt(), parallel);
    for (const Overlap kind : {Overlap::tp, Overlap::tp_backward}) {
      parallel.overlap = {kind};
      check(gpt(), parallel);
    }
  }
}

TEST_CASE("in simulated order: data parallelism and ZeRO") {
  for (const int zero : {0, 1, 2, 3}) {
    CAPTURE(zero);
    ParallelConfig parallel = layout(4);
    parallel.zero = zero;
    check(gpt(), parallel);
    parallel.shard_ranks = 2;
    parallel.overlap = {Overlap::dp_gradients, Overlap::dp_parameters};
    parallel.reshard_after_forward = false;
    check(gpt(), parallel);
  }
}

TEST_CASE("in simulated order: pipelines") {
  for (const PipelineOrder order :
       {PipelineOrder::naive, PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
        PipelineOrder::interleaved, PipelineOrder::zb_h1, PipelineOrder::zb_h2,
        PipelineOrder::zb_1p, PipelineOrder::zb_2p}) {
    CAPTURE(static_cast<int>(order));
    for (const bool overlap : {false, true}) {
      ParallelConfig parallel = layout();
      parallel.pp = 2;
      parallel.tp = 2;
      parallel.schedule = order;
      parallel.vpp = order == PipelineOrder::interleaved ? 2 : 1;
      parallel.global_batch = 8;
      if (overlap) parallel.overlap = {Overlap::pp};
      check(gpt(), parallel);
    }
  }
}

TEST_CASE("in simulated order: context parallelism") {
  for (const ContextKind kind : {ContextKind::ring, ContextKind::ulysses, ContextKind::both}) {
    for (const bool overlap : {false, true}) {
      CAPTURE(static_cast<int>(kind));
      ParallelConfig parallel = layout();
      parallel.cp = 4;
      parallel.cp_kind = kind;
      parallel.ulysses = kind == ContextKind::both ? 2 : 0;
      if (overlap) parallel.overlap = {Overlap::cp};
      check(gpt(), parallel);
    }
  }
}

// Slots of experts count as the program has them, whatever room the execution needs for all tokens.
TEST_CASE("in simulated order: expert parallelism") {
  for (const int zero : {0, 3}) {
    ParallelConfig parallel = layout(4);
    parallel.ep = 4;
    parallel.zero = zero;
    check(gpt(true), parallel);
  }
}

// With the capacity that the program has, the execution's own buffers are as large as its slots.
TEST_CASE("in simulated order: experts that drop tokens") {
  for (const double capacity : {1.0, 1.5}) {
    ParallelConfig parallel = layout(4);
    parallel.ep = 4;
    parallel.capacity_factor = capacity;
    const Simulated step = simulated(gpt(true), parallel, Slow{});
    ExecutionOptions options;
    options.expert_slots = 0;
    ProgramExecution drawn{*step.program, options};
    options.timeline = &step.timeline;
    ProgramExecution execution{*step.program, options};
    for (int i = 0; i < 2; ++i) {
      CHECK(std::abs(execution.step() - drawn.step()) < kSame);
      CHECK(memory_difference(step, execution) == "");
    }
  }
}

TEST_CASE("in simulated order: recomputation") {
  for (const Recompute how : {Recompute::selective, Recompute::full}) {
    ParallelConfig parallel = layout(2);
    parallel.recompute = how;
    parallel.tp = 2;
    parallel.zero = 3;
    check(gpt(false, 0.2), parallel);
  }
}

TEST_CASE("in simulated order: optimizer on the host") {
  for (const int zero : {0, 1, 2, 3}) {
    ParallelConfig parallel = layout(2);
    parallel.zero = zero;
    parallel.state.offload = true;
    check(gpt(), parallel);
  }
}

TEST_CASE("in simulated order: servers, averaging on a host, averaging of parameters") {
  ParallelConfig parallel = layout(4);
  parallel.exchange = GradientExchange::parameter_server;
  parallel.servers = 3;
  check(gpt(), parallel);
  parallel.servers = 1;
  parallel.exchange = GradientExchange::host_average;
  check(gpt(), parallel);
  parallel.exchange = GradientExchange::parameter_averaging;  // momentum is linear: the same
  check(gpt(), parallel);
}

TEST_CASE("in simulated order: random layouts") {
  int done = 0;
  for (const RandomLayout& drawn : random_layouts(20261123, 40)) {
    const RandomLayout shrunken = shrunk(drawn);
    if (!possible(shrunken)) continue;
    const std::string text = to_string(shrunken);
    CAPTURE(text);
    CHECK(trouble(shrunken.model, shrunken.parallel, Slow{}) == "");
    if (++done == 24) break;
  }
  CHECK(done >= 20);
}

/// A step that is simulated with other dependencies than its program has.
class Resimulated {
 public:
  Resimulated(const ModelConfig& model, const ParallelConfig& with)
      : program_{std::make_shared<const Program>(build_program(model, with, 8))},
        cluster_{star(with.ranks(), 0)},
        network_{lower(cluster_, Device{}.endpoint(), RoutePolicy::automatic)},
        choice_{cluster_,
                network_,
                switches_,
                Device{},
                load_nccl_tuning(LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json"),
                with.algorithms},
        kernels_{*program_, cost_, {}} {
    for (std::size_t i = 0; i < program_->roles.size(); ++i) {
      roles.push_back(unroll(*program_, i));
    }
    for (int rank = 0; rank < with.ranks(); ++rank) ranks_.push_back(rank);
  }

  /// Of `roles` as they are. Errors: none.
  [[nodiscard]] TrainingStepTimeline timeline() {
    const LoweredProgram lowered =
        lower_program({*program_, roles, ranks_, kernels_, choice_, nullptr,
                       [](int rank) { return static_cast<EndpointId>(rank); }, 1});
    const ReplayResult result = replay(network_, lowered.workload, NetworkModel::fluid);
    REQUIRE(result.unfinished.empty());
    return timeline_of(program_, roles, ranks_, lowered, result.stream_ends);
  }

  /// What is wrong with executing a timeline; empty: nothing, and the loss is `loss`.
  [[nodiscard]] std::string trouble(const TrainingStepTimeline& timeline, double loss) const {
    ExecutionOptions options;
    options.timeline = &timeline;
    try {
      const double got = ProgramExecution{*program_, options}.step();
      return std::abs(got - loss) < kSame ? "" : fmt::format("loss {} for {}", got, loss);
    } catch (const ExecutionError& error) {
      return error.what();
    }
  }
  [[nodiscard]] double loss() const { return ProgramExecution{*program_}.step(); }

  std::vector<RoleProgram> roles{};

 private:
  std::shared_ptr<const Program> program_;
  Slow cost_{};
  Cluster cluster_;
  ReducingSwitches switches_;
  Network network_;
  CollectiveChoice choice_;
  KernelTimes kernels_;
  std::vector<int> ranks_{};
};

[[nodiscard]] ParallelConfig with_streams() {
  ParallelConfig parallel = layout(2);
  parallel.cp = 2;
  parallel.zero = 3;
  parallel.overlap = {Overlap::cp, Overlap::dp_gradients, Overlap::dp_parameters};
  return parallel;
}

// A simulator that forgets to wait starts an operation too early, or is lucky: then something else
// has made it wait, and the numbers are right.
TEST_CASE("a dependency that the simulation forgets is found: an operation starts too early") {
  Resimulated step{gpt(), with_streams()};
  const double loss = step.loss();
  REQUIRE(step.trouble(step.timeline(), loss) == "");
  int found = 0;
  RoleProgram& role = step.roles.front();
  for (std::size_t i = 0; i < role.operations.size(); i += 2) {
    if (role.operations[i].after.empty()) continue;
    const IndexList after = std::exchange(role.operations[i].after, {});
    const std::string text = step.trouble(step.timeline(), loss);
    role.operations[i].after = after;
    const std::string who = role.name(static_cast<std::uint32_t>(i)) + " starts at ";
    CAPTURE(text);
    if (text.find("loss") == 0) FAIL_CHECK("wrong numbers instead of an error");
    if (text.find(who) != std::string::npos) ++found;
  }
  CHECK(found >= 20);
}

/// The last operation before `index` that writes what it reads, and takes time; none: kNone.
constexpr std::uint32_t kNone = UINT32_MAX;
[[nodiscard]] std::uint32_t writer_of(const RoleProgram& role, const RankTimeline& when,
                                      std::uint32_t index) {
  const IndexList& reads = role.operations[index].reads;
  for (std::uint32_t i = index; i-- > 0;) {
    const bool takes_time = when.operations[i].end > when.operations[i].start;
    for (const std::uint32_t written : role.operations[i].writes) {
      const bool is_read = std::find(reads.begin(), reads.end(), written) != reads.end();
      if (is_read && takes_time) return i;
    }
  }
  return kNone;
}

TEST_CASE("an operation that is moved to before its input exists is named with it") {
  const Simulated step = simulated(gpt(), with_streams(), Slow{});
  const RoleProgram& role = step.timeline.roles.front();
  int moved = 0;
  for (std::uint32_t i = 0; i < role.operations.size(); i += 7) {
    const std::uint32_t writer = writer_of(role, step.timeline.ranks.front(), i);
    if (writer == kNone) continue;
    TrainingStepTimeline timeline = step.timeline;
    OperationTimes& times = timeline.ranks.front().operations;
    times.set(i, {times.start_of(writer), times.end_of(i)});
    ExecutionOptions options;
    options.timeline = &timeline;
    ProgramExecution execution{*step.program, options};
    std::string text;
    try {
      (void)execution.step();
    } catch (const ExecutionError& error) {
      text = error.what();
    }
    CAPTURE(text);
    CHECK(text.find("rank 0: " + role.name(i) + " starts at ") == 0);
    CHECK(text.find(" exists: ") != std::string::npos);
    ++moved;
  }
  CHECK(moved >= 50);
}

}  // namespace
}  // namespace lockstep::test
