#include "strategies/step/simulate.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/trace/step_period.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/files/cluster_file.hpp"

namespace lockstep::test {
namespace {

/// Ranks on one switch.
[[nodiscard]] Cluster star(int ranks, const std::string& bandwidth, const std::string& latency) {
  const std::string text = fmt::format(
      R"({{"name": "star", "summary": "test", "device": "host", "ranks": {}, "topology": {{
          "builder": "star", "link": {{"bandwidth": "{}", "latency": "{}",
          "source": "by definition"}}}}}})",
      ranks, bandwidth, latency);
  return read_cluster(parse_json(text, "star.json")).cluster;
}

/// Messages take next to no time: 1e14 bytes a second.
[[nodiscard]] Cluster fast_star(int ranks) {
  return star(ranks, "100000 GB/s", "1 ps");
}

/// Messages take about as long as computation.
[[nodiscard]] Cluster slow_star(int ranks) {
  return star(ranks, "10 GB/s", "1 us");
}

[[nodiscard]] Cluster dgx(int ranks) {
  return load_cluster(LOCKSTEP_SOURCE_DIR "/configs/clusters/dgx-h100.json",
                      ClusterSize{std::nullopt, ranks, 0})
      .cluster;
}

/// A layer's forward pass takes `forward`, the gradient of its input and those of its weights as
/// long as they say; everything else, embedding and head among it, nothing.
class LayerTimes final : public CostModel {
 public:
  LayerTimes(Duration forward, Duration input_gradient, Duration weight_gradient)
      : forward_{forward}, input_{input_gradient}, weight_{weight_gradient} {}
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    if (kernel.kind == OperationKind::attention) return forward_;
    if (kernel.kind == OperationKind::attention_backward) return input_;
    // Biases of Q, K, V, both row GEMMs and the MLP's first: six a layer, in the half of the
    // weights where backward is split.
    if (kernel.kind == OperationKind::bias_gradient) return Duration::picoseconds(weight_.ps() / 6);
    return {};
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }

 private:
  Duration forward_, input_, weight_;
};

/// Kernels for nothing, a millisecond of the host for each operation.
class HostTimes final : public CostModel {
 public:
  explicit HostTimes(bool waits) : waits_{waits} {}
  [[nodiscard]] Duration time(const Kernel& /*kernel*/) const override { return {}; }
  [[nodiscard]] Duration host_time(const Kernel& /*kernel*/) const override { return 1_ms; }
  [[nodiscard]] bool host_waits_for_messages() const override { return waits_; }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }

 private:
  bool waits_;
};

/// The loss takes 10 ms, all else nothing; a millisecond of the host for each operation.
class SlowLoss final : public CostModel {
 public:
  explicit SlowLoss(bool waits) : waits_{waits} {}
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return kernel.kind == OperationKind::loss ? 10_ms : Duration{};
  }
  [[nodiscard]] Duration host_time(const Kernel& /*kernel*/) const override { return 1_ms; }
  [[nodiscard]] bool host_waits_for_passes() const override { return waits_; }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }

 private:
  bool waits_;
};

/// 1e12 operations and 1e11 bytes a second.
class Linear final : public CostModel {
 public:
  [[nodiscard]] Duration time(const Kernel& kernel) const override {
    return Duration::picoseconds(std::llround(kernel.flops + 10 * kernel.moved_bytes));
  }
  [[nodiscard]] double slowdown_while_communicating() const override { return 1; }
};

[[nodiscard]] SimulatedTrainingStep simulated(const ModelConfig& model, const ParallelConfig& with,
                                              const Cluster& cluster, const CostModel& cost,
                                              Fidelity fidelity = Fidelity::all_ranks) {
  SimulationOptions options;
  options.fidelity = fidelity;
  options.fold = Folding::off;  // what every rank does is looked at
  options.nccl_tuning = LOCKSTEP_SOURCE_DIR "/configs/nccl/2.30.json";
  const auto program =
      std::make_shared<const Program>(build_program(model, with, cluster.gpus_per_node()));
  return simulate(program, with, cluster, Device{}, cost, options);
}

[[nodiscard]] Duration step_time(const SimulatedTrainingStep& step) {
  return step.timeline.end.since_start();
}

[[nodiscard]] TransformerConfig shape(std::int64_t layers) {
  TransformerConfig out;
  out.layers = layers;
  out.hidden = 64;
  out.heads = 8;
  out.sequence = 64;
  out.vocabulary = 128;
  return out;
}

constexpr Duration kForward = 6_ms;
constexpr Duration kInput = 6_ms;
constexpr Duration kWeight = 6_ms;
constexpr int kP = 4;
constexpr int kM = 8;

/// In milliseconds, to a thousandth of one.
[[nodiscard]] double rounded(Duration time) {
  return std::round(time.seconds() * 1e6) / 1e3;
}

/// Pipelines of one layer a chunk. Messages stay far below what is rounded.
[[nodiscard]] SimulatedTrainingStep pipeline_step(PipelineOrder order, int microbatches, int chunks,
                                                  bool overlap) {
  ParallelConfig with;
  with.pp = kP;
  with.vpp = chunks;
  with.schedule = order;
  with.global_batch = microbatches;
  if (overlap) with.overlap = {Overlap::pp};
  const LayerTimes cost{kForward, kInput, kWeight};
  return simulated(transformer(shape(kP * chunks)), with, fast_star(kP), cost);
}

[[nodiscard]] double pipelined(PipelineOrder order, int microbatches = kM, int chunks = 1,
                               bool overlap = true) {
  return rounded(step_time(pipeline_step(order, microbatches, chunks, overlap)));
}

constexpr double kF = 6;
constexpr double kB = 6;
constexpr double kW = 6;

[[nodiscard]] ParallelConfig tensor_parallel() {
  ParallelConfig out;
  out.tp = 8;
  out.global_batch = 2;
  return out;
}

[[nodiscard]] ParallelConfig data_parallel(int zero) {
  ParallelConfig out;
  out.dp = 16;
  out.global_batch = 32;
  out.zero = zero;
  return out;
}

[[nodiscard]] ParallelConfig pipeline() {
  ParallelConfig out;
  out.pp = 8;
  out.schedule = PipelineOrder::one_f_one_b;
  out.global_batch = 16;
  return out;
}

[[nodiscard]] std::set<Overlap> everything() {
  return {Overlap::cp, Overlap::dp_gradients, Overlap::dp_parameters,
          Overlap::ep, Overlap::hsdp,         Overlap::pp,
          Overlap::tp};
}

}  // namespace

TEST_CASE("bubble: one stage works at a time in a naive pipeline") {
  CHECK(pipelined(PipelineOrder::naive) == kM * kP * (kF + kB + kW));
  CHECK(pipelined(PipelineOrder::naive, 1) == kP * (kF + kB + kW));
}

TEST_CASE("bubble: GPipe and 1F1B wait (p - 1)(tF + tB)") {
  // Huang et al., arXiv 1811.06965; Narayanan et al., arXiv 2104.04473, section 2.2.1.
  for (const int microbatches : {4, 8, 16}) {
    const double wanted = (microbatches + kP - 1) * (kF + kB + kW);
    CHECK(pipelined(PipelineOrder::gpipe, microbatches) == wanted);
    CHECK(pipelined(PipelineOrder::one_f_one_b, microbatches) == wanted);
  }
}

TEST_CASE("bubble: interleaving divides it by the chunks of a stage") {
  // Section 2.2.2 there. A chunk is a layer: a stage of v has v times the work.
  for (const int chunks : {2, 3}) {
    CHECK(pipelined(PipelineOrder::interleaved, kM, chunks) ==
          kM * chunks * (kF + kB + kW) + (kP - 1) * (kF + kB + kW));
  }
}

TEST_CASE("bubble: zero-bubble schedules fill it with the gradients of weights") {
  // Qi et al., arXiv 2401.10241, table 1: (p-1)(tF + tB - tW) and (p-1)(tF + tB - 2tW), where all
  // three are equal p-1 and 0. That is of one stage; the step ends with the last stage, which in
  // ZB-H2 begins (p-1) tF later and works on from there.
  CHECK(pipelined(PipelineOrder::zb_h1) == kM * (kF + kB + kW) + (kP - 1) * (kF + kB - kW));
  CHECK(pipelined(PipelineOrder::zb_h2) == kM * (kF + kB + kW) + (kP - 1) * kF);
}

TEST_CASE("period of steps: in ZB-H2 no stage waits, though the last begins late") {
  // Section 4 there: without synchronization a step is a parallelogram, and its bubble that of one
  // stage, table 1.
  const auto period = [](PipelineOrder order) {
    return rounded(step_period(pipeline_step(order, kM, 1, true).timeline));
  };
  CHECK(period(PipelineOrder::zb_h2) == kM * (kF + kB + kW));
  CHECK(period(PipelineOrder::zb_h1) == kM * (kF + kB + kW) + (kP - 1) * (kF + kB - kW));
  CHECK(period(PipelineOrder::one_f_one_b) == (kM + kP - 1) * (kF + kB + kW));
}

TEST_CASE(
    "bubble: a stage waits the same, whether messages may hide or not, where they are short") {
  for (const PipelineOrder order : {PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
                                    PipelineOrder::zb_h1, PipelineOrder::zb_h2}) {
    CHECK(pipelined(order, kM, 1, false) == pipelined(order, kM, 1, true));
  }
}

TEST_CASE("a host that waits for messages begins to issue what follows when they are there") {
  // Kernels and messages take no time, the host one millisecond each. Two stages, one microbatch:
  // the second stage's host goes on when the first has issued its forward pass, and the first's
  // when the second has issued what leads to its gradient.
  ParallelConfig with;
  with.pp = 2;
  with.schedule = PipelineOrder::one_f_one_b;
  const ModelConfig model = transformer(shape(2));
  const TrainingStepUnderTest step{model, with};
  const auto place = [&](std::size_t role, OperationKind kind) {
    const auto& operations = step.role(role).operations;
    const auto found =
        std::find_if(operations.begin(), operations.end(),
                     [kind](const RoleOperation& one) { return one.operation->kind == kind; });
    return static_cast<double>(found - operations.begin());
  };
  const double forward = place(0, OperationKind::send) + 1;
  const double middle = place(1, OperationKind::send) - place(1, OperationKind::receive);
  const auto after = [&](std::size_t role, OperationKind kind) {
    return static_cast<double>(step.role(role).operations.size()) - 1 - place(role, kind);
  };
  const double last = std::max(after(0, OperationKind::receive), after(1, OperationKind::send));
  const auto milliseconds = [&](bool waits) {
    const double time = step_time(simulated(model, with, fast_star(2), HostTimes{waits})).seconds();
    return std::round(time * 1e6) / 1e3;
  };
  CHECK(milliseconds(true) == forward + middle + last);
  // Without: each issues all of its own.
  CHECK(milliseconds(false) ==
        std::max<double>(static_cast<double>(step.role(0).operations.size()),
                         static_cast<double>(step.role(1).operations.size())));
}

TEST_CASE("uneven stages: the slowest sets the pace") {
  // 1F1B with 3, 1, 1, 1 layers: the first stage works all the time but for the way of the last
  // microbatch to the end and back: 3 * 18 ms each of 8, and once through the other three.
  ParallelConfig with;
  with.pp = kP;
  with.schedule = PipelineOrder::one_f_one_b;
  with.stages = {3, 1, 1, 1};
  with.global_batch = kM;
  with.overlap = {Overlap::pp};
  const LayerTimes cost{kForward, kInput, kWeight};
  const double all =
      step_time(simulated(transformer(shape(6)), with, fast_star(kP), cost)).seconds() * 1e3;
  CHECK(all >= kM * 3 * (kF + kB + kW));
  CHECK(all <= (kM * 3 + 3) * (kF + kB + kW) + 0.001);
}

TEST_CASE("one rank of each role gives the times of all ranks without other traffic") {
  const ModelConfig model = transformer(shape(8));
  const Linear cost;
  const auto same = [&](const ParallelConfig& with, const Cluster& cluster) {
    const SimulatedTrainingStep all = simulated(model, with, cluster, cost, Fidelity::all_ranks);
    const SimulatedTrainingStep some =
        simulated(model, with, cluster, cost, Fidelity::representatives);
    CHECK(all.timeline.ranks.size() == static_cast<std::size_t>(with.ranks()));
    CHECK(some.timeline.ranks.size() == static_cast<std::size_t>(with.pp));
    CHECK(step_time(some).ps() == step_time(all).ps());
  };
  SUBCASE("tensor parallelism on one node") {
    same(tensor_parallel(), dgx(8));
  }
  SUBCASE("data parallelism over two") {
    same(data_parallel(0), dgx(16));
  }
  SUBCASE("ZeRO-1") {
    same(data_parallel(1), dgx(16));
  }
  SUBCASE("ZeRO-3") {
    same(data_parallel(3), dgx(16));
  }
  SUBCASE("pipeline") {
    same(pipeline(), dgx(8));
  }
  SUBCASE("on a star") {
    same(data_parallel(0), slow_star(16));
    same(tensor_parallel(), slow_star(8));
    same(pipeline(), slow_star(8));
  }
}

TEST_CASE("overlap never makes a step longer") {
  const ModelConfig model = transformer(shape(8));
  const Linear cost;
  const auto compare = [&](ParallelConfig with) {
    const Cluster cluster = slow_star(with.ranks());
    const Duration off = step_time(simulated(model, with, cluster, cost));
    with.overlap = everything();
    const Duration on = step_time(simulated(model, with, cluster, cost));
    CHECK(on <= off);
    return on < off;
  };
  ParallelConfig rings;
  rings.cp = 4;
  CHECK(compare(rings));
  ParallelConfig buckets = data_parallel(0);
  buckets.bucket = Bytes{50'000};
  CHECK(compare(buckets));
  CHECK(compare(data_parallel(2)));
  CHECK(compare(data_parallel(3)));
  CHECK(compare(pipeline()));
  CHECK(compare(tensor_parallel()));
}

TEST_CASE("overlap never makes a step longer, whatever the layout") {
  const Linear cost;
  for (RandomLayout layout : random_layouts(23, 16)) {
    CAPTURE(to_string(layout));
    const Cluster cluster = slow_star(layout.parallel.ranks());
    const auto time = [&] {
      return step_time(
          simulated(layout.model, layout.parallel, cluster, cost, Fidelity::representatives));
    };
    const Duration some = time();
    layout.parallel.overlap.clear();
    const Duration off = time();
    layout.parallel.overlap = everything();
    CHECK(time() <= off);
    CHECK(some <= off);
  }
}

// A host that runs ahead launches the backward pass, of more than ten operations, while the loss is
// computed; one that waits for the end of each pass launches nothing meanwhile.
TEST_CASE("a host that waits for each pass has the end of the forward pass exposed") {
  ParallelConfig three;
  three.global_batch = 3;
  const auto time = [&](bool waits) {
    return step_time(simulated(transformer(shape(2)), three, slow_star(1), SlowLoss{waits}));
  };
  CHECK(time(true) - time(false) == 30_ms);
}

TEST_CASE("small steps are simulated on all ranks, large ones on one of each role") {
  const Linear cost;
  const ModelConfig model = transformer(shape(2));
  CHECK(simulated(model, data_parallel(0), slow_star(16), cost, Fidelity::automatic).fidelity ==
        Fidelity::all_ranks);
  ParallelConfig with = data_parallel(3);
  with.dp = 1024;
  with.global_batch = 1024;
  const SimulatedTrainingStep large =
      simulated(model, with, slow_star(1024), cost, Fidelity::automatic);
  CHECK(large.fidelity == Fidelity::representatives);
  CHECK(large.timeline.ranks.size() == 1);
}

TEST_CASE("every layout ends, on all ranks and on one of each role, and again in the same time") {
  const Linear cost;
  for (const RandomLayout& layout : random_layouts(21, 24)) {
    CAPTURE(to_string(layout));
    const Cluster cluster = slow_star(layout.parallel.ranks());
    const SimulatedTrainingStep all = simulated(layout.model, layout.parallel, cluster, cost);
    const SimulatedTrainingStep some =
        simulated(layout.model, layout.parallel, cluster, cost, Fidelity::representatives);
    CHECK(step_time(all) > Duration{});
    CHECK(step_time(some) > Duration{});
    const SimulatedTrainingStep again = simulated(layout.model, layout.parallel, cluster, cost);
    CHECK(step_time(again) == step_time(all));
    CHECK(again.timeline.link_bytes == all.timeline.link_bytes);
    for (std::size_t rank = 0; rank < all.timeline.ranks.size(); ++rank)
      CHECK(all.timeline.ranks[rank].operations == again.timeline.ranks[rank].operations);
  }
}

TEST_CASE("operations end after they begin, and after what they wait for") {
  const Linear cost;
  for (const RandomLayout& layout : random_layouts(22, 8)) {
    CAPTURE(to_string(layout));
    const SimulatedTrainingStep step =
        simulated(layout.model, layout.parallel, slow_star(layout.parallel.ranks()), cost);
    for (const RankTimeline& rank : step.timeline.ranks) {
      const RoleProgram& role = step.timeline.roles[rank.role];
      REQUIRE(rank.operations.size() == role.operations.size());
      for (std::size_t i = 0; i < rank.operations.size(); ++i) {
        REQUIRE(rank.operations[i].start <= rank.operations[i].end);
        REQUIRE(rank.operations[i].end <= step.timeline.end);
        for (const std::uint32_t before : role.operations[i].after) {
          REQUIRE(rank.operations[before].end <= rank.operations[i].start);
        }
      }
    }
  }
}

TEST_CASE("parameter servers: one server's link is the bottleneck, several share it") {
  const ModelConfig model = transformer(shape(8));
  const LayerTimes nothing{Duration{}, Duration{}, Duration{}};
  const auto time = [&](int servers) {
    ParallelConfig with;
    with.dp = 4;
    with.global_batch = 4;
    with.exchange = GradientExchange::parameter_server;
    with.servers = servers;
    const std::string text = R"({"name": "star", "summary": "test", "device": "host", "ranks": 4,
        "topology": {"builder": "star", "link": {"bandwidth": "1 GB/s", "latency": "1 ps",
        "source": "by definition"}}})";
    const Cluster cluster =
        read_cluster(parse_json(text, "star.json"), ClusterSize{std::nullopt, 4, servers}).cluster;
    return step_time(simulated(model, with, cluster, nothing)).seconds();
  };
  // Every worker's gradients go into one link, and the weights out of it to every worker: n * 2P
  // bytes each, one after the other for each block.
  const std::int64_t parameters = 8 * (12 * 64 * 64 + 13 * 64) + 2 * 128 * 64 + 64 * 64 + 2 * 64;
  CHECK(time(1) >= 4 * 2.0 * static_cast<double>(parameters) / 1e9);
  CHECK(time(1) <= 2 * 4 * 2.0 * static_cast<double>(parameters) / 1e9 * 1.01);
  CHECK(time(2) < time(1) * 0.7);
}

}  // namespace lockstep::test
