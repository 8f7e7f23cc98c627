#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>

#include "sim/trace/memory/memory.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "strategies/step/bound/block_shapes.hpp"
#include "strategies/step/bound/layout_bound.hpp"
#include "strategies/step/bound/program_bound.hpp"
#include "strategies/step/bound/routine_bound.hpp"
#include "strategies/step/build_program.hpp"
#include "strategies/step/simulate.hpp"
#include "tests/strategies/step/fold/fold_harness.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "topologies/devices/device.hpp"

// A layout is dropped from a search where its lower bound exceeds what another one takes: one bound
// above a simulated step is a wrong answer of `lockstep plan`. So the expectation here is the
// simulation itself, of layouts drawn over all strategies, models, clusters and software stacks.

namespace lockstep::test {
namespace {

/// Of each test case; LOCKSTEP_BOUND_CASES=4000 for more of them.
int cases() {
  const char* text = std::getenv("LOCKSTEP_BOUND_CASES");
  return text != nullptr ? std::atoi(text) : 860;
}

/// LOCKSTEP_BOUND_SEED=7 for others.
std::uint64_t seed_of(std::uint64_t part) {
  const char* text = std::getenv("LOCKSTEP_BOUND_SEED");
  return part + 1000 * (text != nullptr ? std::strtoull(text, nullptr, 10) : 0);
}

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

/// What was read once.
const Cluster& known_cluster(const std::string& id, int ranks) {
  static std::map<std::pair<std::string, int>, Cluster> known;
  const auto found = known.find({id, ranks});
  if (found != known.end()) return found->second;
  return known.emplace(std::pair{id, ranks}, cluster_of(id, ranks)).first->second;
}

const SoftwareStack& known_stack(const std::string& name) {
  static std::map<std::string, SoftwareStack> known;
  const auto found = known.find(name);
  if (found != known.end()) return found->second;
  return known.emplace(name, find_software_stack(kConfigs + "/stacks", name)).first->second;
}

const NcclTuning& known_tuning(const std::string& file) {
  static std::map<std::string, NcclTuning> known;
  const auto found = known.find(file);
  if (found != known.end()) return found->second;
  return known.emplace(file, load_nccl_tuning(file, {})).first->second;
}

const CostModel& known_cost(const std::string& id, const Device& device, const std::string& stack,
                            int ranks) {
  static std::map<std::tuple<std::string, std::string, int>, std::unique_ptr<CostModel>> known;
  auto& of = known[{id, stack, ranks}];
  if (!of) of = cost_model(device, stack, {}, kConfigs, nullptr, ranks);
  return *of;
}

const Cluster& drawn_cluster(std::mt19937_64& draw, int ranks) {
  const int nodes_full = (ranks + 7) / 8 * 8;
  switch (draw() % 8) {
    case 0:
      return known_cluster("dgx1", nodes_full);
    case 1:
      return known_cluster("ring", std::max(ranks, 3));
    case 2:
      return known_cluster("fat-tree", nodes_full);
    case 3:
      return known_cluster("star", std::max(ranks, 2));
    case 4:
      return known_cluster("dgx-a100", nodes_full);
    case 5:
      return known_cluster("rail-optimised", nodes_full);
    default:
      return known_cluster("dgx-h100", nodes_full);
  }
}

/// The strategies as drawn on a model whose GEMMs take longer than their launch.
RandomLayout enlarged(RandomLayout layout) {
  TransformerConfig shape = layout.shape();
  shape.hidden *= 32;
  shape.head_size *= 32;
  shape.ffn *= 32;
  shape.sequence *= 16;
  shape.vocabulary *= 64;
  if (shape.experts) {
    shape.experts->ffn *= 16;
    shape.experts->shared_ffn *= 16;
  }
  if (shape.latent) {
    LatentAttention& latent = *shape.latent;
    latent.query_rank *= 16;
    latent.kv_rank *= 16;
    latent.key_size *= 16;
    latent.rotary_size *= 16;
    latent.value_size *= 16;
  }
  layout.model.shape = shape;
  return layout;
}

/// The strategies as drawn on a diffusion transformer of 1,024 patches.
RandomLayout denoising(RandomLayout layout) {
  const TransformerConfig& drawn = layout.shape();
  TransformerConfig shape;
  shape.layers = drawn.layers;
  shape.heads = shape.kv_heads = drawn.heads;
  shape.head_size = 16;
  shape.hidden = shape.heads * shape.head_size;
  shape.ffn = 4 * shape.hidden;
  shape.causal = shape.norm_gain = false;
  shape.positions = Positions::none;
  shape.image = ImageInput{.side = 64, .patch = 2, .channels = 4, .class_token = false};
  shape.sequence = shape.image->tokens();
  shape.vocabulary = 10;
  shape.diffusion = DiffusionTransformer{};
  layout.model.shape = shape;
  return layout;
}

struct Ratio {
  std::vector<double> of{};

  void add(double bound, double simulated) { of.push_back(bound / simulated); }
  [[nodiscard]] std::string text() {
    if (of.empty()) return "of none";
    std::sort(of.begin(), of.end());
    const auto at = [&](double share) {
      return of[static_cast<std::size_t>(share * static_cast<double>(of.size() - 1))];
    };
    return fmt::format("{:.3f} / {:.3f} / {:.3f}", at(0.1), at(0.5), at(0.9));
  }
};

struct Tally {
  Ratio layout{};
  Ratio program{};
  Ratio memory{};
  Ratio offload{};  // bounds of programs whose update is on hosts
  int steps = 0;
};

/// Of all ranks, or of one rank of each role: that is no more.
Bytes peak_of(const TrainingStepTimeline& timeline, bool of_all) {
  Bytes most;
  std::set<std::size_t> seen;
  for (const RankTimeline& rank : timeline.ranks) {
    if (timeline.program->roles[rank.role].host) continue;
    if (!seen.insert(rank.role).second && !of_all) continue;
    most = std::max(most, memory_account(timeline.roles[rank.role], rank).device.peak.held.total());
  }
  return most;
}

void hold(const RandomLayout& layout, const Cluster& cluster, const std::string& device_id,
          const Device& device, const std::string& stack, Tally& tally) {
  RandomLayout drawn = layout;
  drawn.parallel.form = known_stack(stack).form;
  const CostModel& cost = known_cost(device_id, device, stack, drawn.parallel.ranks());
  const std::string tuning = nccl_tuning_of(stack, kConfigs).string();
  CAPTURE(to_string(drawn));
  CAPTURE(stack);
  SimulationOptions options;
  options.nccl_tuning = tuning;
  options.host_memory = 16_GBps;
  options.host_link = 2_GBps;
  OperationBounds operations{cluster,
                             device,
                             known_tuning(tuning),
                             drawn.parallel.algorithms,
                             {options.host_memory, options.host_link}};
  const LayoutBound bound = LayoutBounds{drawn.model, cost, operations}.of(drawn.parallel);
  const auto program = std::make_shared<const Program>(
      build_program(drawn.model, drawn.parallel, cluster.gpus_per_node()));
  const Duration finer = program_bound(*program, cost, operations);
  const SimulatedTrainingStep step =
      simulate(program, drawn.parallel, cluster, device, cost, options);
  const Duration time = step.timeline.end.since_start();
  Bytes memory = peak_of(step.timeline, false);
  if (bound.memory > memory) memory = peak_of(step.timeline, true);
  CHECK(bound.time.ps() <= time.ps());
  CHECK(finer.ps() <= time.ps());
  CHECK(bound.memory.count() <= memory.count());
  tally.layout.add(bound.time.seconds(), time.seconds());
  tally.program.add(finer.seconds(), time.seconds());
  if (drawn.parallel.state.offload && !drawn.parallel.updates_by_bucket())
    tally.offload.add(finer.seconds(), time.seconds());
  tally.memory.add(static_cast<double>(bound.memory.count()), static_cast<double>(memory.count()));
  ++tally.steps;
}

RandomLayout as_drawn(RandomLayout layout) {
  return layout;
}

/// Of so many layouts at least `tenths` are possible.
void hold_all(std::uint64_t seed, const std::function<RandomLayout(RandomLayout)>& change,
              int count, int tenths = 7) {
  std::mt19937_64 draw{seed};
  const std::vector<std::string> stacks{"transformer-engine", "fsdp2",   "unfused", "eager",
                                        "deepspeed-bf16",     "blocking"};
  const std::vector<std::string> devices{"h100-sxm5-80gb", "a100-sxm4-80gb", "v100-sxm3-32gb"};
  std::map<std::string, Device> known;
  for (const std::string& id : devices)
    known.emplace(id, load_device(kConfigs + "/devices/" + id + ".json"));
  Tally tally;
  for (const RandomLayout& of : random_layouts(seed, count)) {
    RandomLayout layout = change(of);
    if (draw() % 4 == 0) layout.parallel.global_batch *= 4;
    const Cluster& cluster = drawn_cluster(draw, layout.parallel.ranks());
    const std::string& device_id = devices[draw() % devices.size()];
    const Device& device = known.at(device_id);
    const std::string& stack = stacks[draw() % stacks.size()];
    if (!layout_problems(layout.model, layout.parallel, layout.parallel.ranks(),
                         cluster.gpus_per_node())
             .empty())
      continue;
    hold(layout, cluster, device_id, device, stack, tally);
  }
  MESSAGE(tally.steps << " steps; bound over simulation (10th, 50th, 90th percentile): layout "
                      << tally.layout.text() << ", program " << tally.program.text() << ", memory "
                      << tally.memory.text() << ", program with offload " << tally.offload.text());
  CHECK(10 * tally.steps > tenths * count);
}

}  // namespace

TEST_CASE("no step is below its bounds: models whose kernels are short, part 1 of 2") {
  hold_all(seed_of(20261124), as_drawn, cases());
}

TEST_CASE("no step is below its bounds: models whose kernels are short, part 2 of 2") {
  hold_all(seed_of(41), as_drawn, cases());
}

TEST_CASE("no step is below its bounds: models whose kernels are long, part 1 of 2") {
  // A seed for which a bound was above the step where only groups of the first stage counted.
  hold_all(seed_of(7033), enlarged, cases());
}

TEST_CASE("no step is below its bounds: models whose kernels are long, part 2 of 2") {
  hold_all(seed_of(34), enlarged, cases());
}

// Stages send the conditions on, too, and no send holds the compute stream.
TEST_CASE("no step is below its bounds: diffusion transformers") {
  hold_all(seed_of(12), denoising, cases(), 3);
}

// Stages of the encoder send other messages than those of the decoder.
TEST_CASE("no step is below its bounds: encoders with decoders") {
  hold_all(
      seed_of(13), [](RandomLayout layout) { return enlarged(encoder_decoder(std::move(layout))); },
      cases(), 3);
}

// Computation of one microbatch goes on where another one's all-to-alls travel, so that passes do
// not add up.
TEST_CASE("no step is below its bounds: two microbatches in turn, models whose kernels are short") {
  std::mt19937_64 draw{seed_of(15)};
  hold_all(
      seed_of(15), [&](RandomLayout layout) { return in_turn(std::move(layout), draw()); }, cases(),
      3);
}

TEST_CASE("no step is below its bounds: two microbatches in turn, models whose kernels are long") {
  std::mt19937_64 draw{seed_of(16)};
  hold_all(
      seed_of(16),
      [&](RandomLayout layout) { return enlarged(in_turn(std::move(layout), draw())); }, cases(),
      3);
}

TEST_CASE("two microbatches in turn take all kernels, and all all-to-alls of their pairs") {
  // One stage: F, then m - 1 pairs of F and B, then B. No kernel overlaps another, nor an
  // all-to-all another, and those of pairs are longer than what is computed meanwhile where experts
  // are small.
  const Device device = load_device(kConfigs + "/devices/h100-sxm5-80gb.json");
  const auto cost = cost_model(device, "transformer-engine", {}, kConfigs, nullptr, 16);
  TransformerConfig shape{.layers = 4,
                          .hidden = 2048,
                          .heads = 16,
                          .kv_heads = 16,
                          .head_size = 128,
                          .ffn = 4096,
                          .sequence = 2048,
                          .vocabulary = 1024};
  shape.experts = ExpertsConfig{.experts = 16, .top_k = 4, .ffn = 4096};
  for (const std::int64_t ffn : {16384, 64}) {
    for (const bool delays : {false, true}) {
      CAPTURE(ffn);
      CAPTURE(delays);
      shape.experts->ffn = ffn;
      ModelConfig model;
      model.shape = shape;
      const Cluster& cluster = known_cluster("star", 16);
      ParallelConfig parallel;
      parallel.dp = parallel.ep = 16;
      parallel.global_batch = 16 * 4;
      parallel.overlap = {Overlap::ep_pairs};
      parallel.delay_wgrad_compute = delays;
      OperationBounds operations{
          cluster,
          device,
          known_tuning(nccl_tuning_of("transformer-engine", kConfigs).string()),
          {},
          {}};
      const Program program = build_program(model, parallel, cluster.gpus_per_node());
      Duration kernels;
      Duration exchanges;
      for (const Call& call : program.roles[0].calls) {
        const Routine& routine = program.routines[call.routine];
        const auto times = OperationBounds::kernels(program, routine, *cost);
        for (std::size_t i = 0; i < times.size(); ++i) {
          const Operation& operation = routine.operations[i];
          if (operation.purpose != Purpose::update) kernels += times[i];
          if (operation.communication && operation.communication->group == "ep")
            exchanges += operations.collective(program, 0, operation);
        }
      }
      const Duration of_pairs = Duration::picoseconds(exchanges.ps() / 4 * 3);
      const Duration bound = LayoutBounds{model, *cost, operations}.of(parallel).time;
      CHECK(bound >= kernels);
      CHECK(bound >= of_pairs);
      CHECK((of_pairs > kernels) == (ffn == 64));
      // In stream order both add up.
      parallel.overlap = {};
      parallel.delay_wgrad_compute = false;
      CHECK(LayoutBounds{model, *cost, operations}.of(parallel).time >= kernels + exchanges);
    }
  }
}

/// The strategies as drawn, with two replicas of each or as many as there are training apart.
RandomLayout with_outer_loop(RandomLayout layout) {
  ParallelConfig& parallel = layout.parallel;
  parallel.exchange = GradientExchange::diloco;
  parallel.outer_replicas = parallel.dp % 2 == 0 ? 2 : 0;
  parallel.shard_ranks = 0;
  parallel.average_every = 4;
  parallel.state.offload = false;
  parallel.outer_on_host = parallel.global_batch % 3 == 0;
  if (parallel.micro_batch % 2 == 0) parallel.overlap.insert(Overlap::outer);
  return enlarged(std::move(layout));
}

TEST_CASE("no step is below its bounds: replicas that train apart") {
  hold_all(seed_of(14), with_outer_loop, cases(), 3);
}

TEST_CASE("bounds of memory have the weights of the last outer step and the outer momentum") {
  const Device device = load_device(kConfigs + "/devices/h100-sxm5-80gb.json");
  const auto cost = cost_model(device, "transformer-engine", {}, kConfigs, nullptr, 8);
  const TransformerConfig shape{.layers = 4,
                                .hidden = 256,
                                .heads = 4,
                                .kv_heads = 4,
                                .head_size = 64,
                                .ffn = 512,
                                .sequence = 256,
                                .vocabulary = 1024};
  ModelConfig model;
  model.shape = shape;
  const std::int64_t parameters = count_parameters(model).trained();
  for (const int zero : {0, 1}) {
    const auto bound = [&](GradientExchange exchange, bool on_host) {
      ParallelConfig parallel;
      parallel.dp = 8;
      parallel.zero = zero;
      parallel.shard_ranks = zero > 0 ? 4 : 0;
      parallel.global_batch = 8;
      parallel.exchange = exchange;
      parallel.outer_on_host = on_host;
      if (exchange == GradientExchange::diloco) parallel.outer_replicas = 2;
      OperationBounds operations{
          known_cluster("dgx-h100", 8),
          device,
          known_tuning(nccl_tuning_of("transformer-engine", kConfigs).string()),
          {},
          {}};
      return LayoutBounds{model, *cost, operations}.of(parallel).memory.count();
    };
    // Two fp32 numbers per parameter, in shards as the optimizer's states; or one on the device.
    const std::int64_t without = bound(GradientExchange::all_reduce, false);
    CHECK(bound(GradientExchange::diloco, false) - without == 8 * parameters / (zero > 0 ? 4 : 1));
    CHECK(bound(GradientExchange::diloco, true) - without == 4 * parameters / (zero > 0 ? 4 : 1));
  }
}

TEST_CASE("shapes of a model whose layers repeat are those of all its layers") {
  // block_shapes() looks at few of them, and CallChain at the order of their operations alone; the
  // expectation is the program of all layers, bounded routine by routine.
  const Device device = load_device(kConfigs + "/devices/h100-sxm5-80gb.json");
  const auto cost = cost_model(device, "transformer-engine", {}, kConfigs, nullptr, 8);
  int compared = 0;
  for (const RandomLayout& of : random_layouts(seed_of(5), 60)) {
    RandomLayout layout = of;
    TransformerConfig shape = layout.shape();
    shape.layers = 15;
    if (shape.experts) shape.experts->dense_layers = compared % 4;
    if (compared % 3 == 1) shape.window = AttentionWindow{.size = 8, .full_every = 3};
    layout.model.shape = shape;
    ParallelConfig& parallel = layout.parallel;
    parallel.pp = parallel.vpp = 1;
    parallel.schedule = PipelineOrder::none;
    parallel.stages.clear();
    parallel.short_edges = false;
    parallel.zero = 0;
    parallel.shard_ranks = 0;
    parallel.state.offload = false;
    parallel.global_batch = parallel.micro_batch * parallel.dp;
    if (!layout_problems(layout.model, parallel, parallel.ranks(), 8).empty()) continue;
    CAPTURE(to_string(layout));
    const BlockShapes shapes = block_shapes(layout.model, parallel, 8, *cost);
    const ProgramOfBlocks whole = build_blocks(layout.model, parallel, 8);
    CHECK(shapes.chain == whole.chain);
    REQUIRE(shapes.kinds.size() == whole.blocks.size());
    const auto none = [](const Operation&) { return Duration{}; };
    for (std::size_t kind = 0; kind < whole.blocks.size(); ++kind) {
      const ShapedCall& forward = shapes.kinds[kind].forward;
      const Routine& routine = whole.program.routines[whole.blocks[kind].forward];
      const RoutineBound bound = routine_bound(whole.program, routine, *cost, none, none);
      const CallTimes times = forward.chain.times(forward.times);
      CHECK(times.path == bound.path.ps());
      const BlockOfProgram& block = whole.blocks[kind];
      if (!block.input || !block.output) continue;
      CHECK(times.until_out == bound.writes(*block.output, 1)->time.ps());
      CHECK(times.from_in == bound.reads(*block.input, 0)->time.ps());
      CHECK(times.through == path_between(routine, bound, {.tensor = *block.input},
                                          {.tensor = *block.output, .further = 1})
                                 .ps());
    }
    ++compared;
  }
  CHECK(compared > 10);
}

/// Leaves have 32 nodes: nodes 0 and 4 share one, between 30 and 34 there are two links more.
TEST_CASE("bounds of messages between nodes do not depend on what was bounded before") {
  const Device device = load_device(kConfigs + "/devices/h100-sxm5-80gb.json");
  const auto bounds = [&] {
    return std::make_unique<OperationBounds>(
        known_cluster("dgx-h100", 512), device,
        known_tuning(nccl_tuning_of("transformer-engine", kConfigs).string()),
        std::map<std::string, std::string>{}, HostRates{});
  };
  const auto near_first = bounds();
  const auto far_first = bounds();
  const Bytes size = 1_MiB;
  const Duration near = near_first->message(0, 32, size).latency;
  const Duration far = far_first->message(240, 272, size).latency;
  CHECK(near < far);
  CHECK(near_first->message(240, 272, size).latency == far);
  CHECK(far_first->message(0, 32, size).latency == near);
}

}  // namespace lockstep::test
