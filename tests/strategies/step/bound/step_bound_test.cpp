#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "sim/trace/memory/memory.hpp"
#include "strategies/nccl/tuning_file.hpp"
#include "strategies/scenario/layout_problems.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "strategies/step/bound/layout_bound.hpp"
#include "strategies/step/bound/program_bound.hpp"
#include "strategies/step/simulate.hpp"
#include "tests/strategies/step/fold_harness.hpp"
#include "tests/strategies/step/random_layouts.hpp"
#include "topologies/devices/device.hpp"

// A layout is dropped from a search where its lower bound exceeds what another one takes: one bound
// above a simulated step is a wrong answer of `lockstep plan`. So the expectation here is the
// simulation itself, of layouts drawn over all strategies, models, clusters and software stacks.

namespace lockstep::test {
namespace {

/// LOCKSTEP_BOUND_CASES=20000 for more of them.
int cases() {
  const char* text = std::getenv("LOCKSTEP_BOUND_CASES");
  return text != nullptr ? std::atoi(text) : 400;
}

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

Cluster drawn_cluster(std::mt19937_64& draw, int ranks) {
  const int nodes_full = (ranks + 7) / 8 * 8;
  switch (draw() % 8) {
    case 0:
      return cluster_of("dgx1", nodes_full);
    case 1:
      return cluster_of("ring", std::max(ranks, 3));
    case 2:
      return cluster_of("fat-tree", nodes_full);
    case 3:
      return cluster_of("star", std::max(ranks, 2));
    case 4:
      return cluster_of("dgx-a100", nodes_full);
    case 5:
      return cluster_of("rail-optimised", nodes_full);
    default:
      return cluster_of("dgx-h100", nodes_full);
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

struct Ratio {
  std::vector<double> of{};

  void add(double bound, double simulated) { of.push_back(bound / simulated); }
  [[nodiscard]] std::string text() {
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
  int steps = 0;
};

Bytes peak_of(const TrainingStepTimeline& timeline) {
  Bytes most;
  for (const RankTimeline& rank : timeline.ranks) {
    if (timeline.program->roles[rank.role].host) continue;
    most = std::max(most, memory_account(timeline.roles[rank.role], rank).device.peak.held.total());
  }
  return most;
}

void hold(const RandomLayout& layout, const Cluster& cluster, const Device& device,
          const std::string& stack, Tally& tally) {
  RandomLayout drawn = layout;
  const SoftwareStack software = find_software_stack(kConfigs + "/stacks", stack);
  drawn.parallel.form = software.form;
  const auto cost = cost_model(device, stack, {}, kConfigs, nullptr, drawn.parallel.ranks());
  const std::string tuning = nccl_tuning_of(stack, kConfigs).string();
  CAPTURE(to_string(drawn));
  CAPTURE(stack);
  OperationBounds operations{cluster, device, load_nccl_tuning(tuning, {}),
                             drawn.parallel.algorithms};
  const LayoutBound bound = LayoutBounds{drawn.model, *cost, operations}.of(drawn.parallel);
  const auto program = std::make_shared<const Program>(
      build_program(drawn.model, drawn.parallel, cluster.gpus_per_node()));
  const Duration finer = program_bound(*program, *cost, operations);
  SimulationOptions options;
  options.nccl_tuning = tuning;
  const SimulatedTrainingStep step =
      simulate(program, drawn.parallel, cluster, device, *cost, options);
  const Duration time = step.timeline.end.since_start();
  const Bytes memory = peak_of(step.timeline);
  CHECK(bound.time.ps() <= time.ps());
  CHECK(finer.ps() <= time.ps());
  CHECK(bound.memory.count() <= memory.count());
  tally.layout.add(bound.time.seconds(), time.seconds());
  tally.program.add(finer.seconds(), time.seconds());
  tally.memory.add(static_cast<double>(bound.memory.count()), static_cast<double>(memory.count()));
  ++tally.steps;
}

void hold_all(std::uint64_t seed, bool large, int count) {
  std::mt19937_64 draw{seed};
  const std::vector<std::string> stacks{"transformer-engine", "fsdp2",   "unfused", "eager",
                                        "deepspeed-bf16",     "blocking"};
  const std::vector<std::string> devices{"h100-sxm5-80gb", "a100-sxm4-80gb", "v100-sxm3-32gb"};
  std::map<std::string, Device> known;
  for (const std::string& id : devices)
    known.emplace(id, load_device(kConfigs + "/devices/" + id + ".json"));
  Tally tally;
  for (const RandomLayout& of : random_layouts(seed, count)) {
    RandomLayout layout = large ? enlarged(of) : of;
    if (draw() % 4 == 0) layout.parallel.global_batch *= 4;
    const Cluster cluster = drawn_cluster(draw, layout.parallel.ranks());
    const Device& device = known.at(devices[draw() % devices.size()]);
    const std::string& stack = stacks[draw() % stacks.size()];
    if (!layout_problems(layout.model, layout.parallel, layout.parallel.ranks(),
                         cluster.gpus_per_node())
             .empty())
      continue;
    hold(layout, cluster, device, stack, tally);
  }
  MESSAGE(tally.steps << " steps; bound over simulation (10th, 50th, 90th percentile): layout "
                      << tally.layout.text() << ", program " << tally.program.text() << ", memory "
                      << tally.memory.text());
  CHECK(10 * tally.steps > 7 * count);
}

}  // namespace

TEST_CASE("no step is below its bounds: models whose kernels are short") {
  hold_all(20'261'124, false, cases());
}

TEST_CASE("no step is below its bounds: models whose kernels are long") {
  hold_all(33, true, cases());
}

}  // namespace lockstep::test
