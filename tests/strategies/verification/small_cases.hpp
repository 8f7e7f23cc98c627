#pragma once

#include <optional>
#include <string>
#include <utility>

#include "strategies/stacks/cost_of.hpp"
#include "strategies/verification/verify_strategy.hpp"
#include "tests/strategies/step/step_under_test.hpp"
#include "topologies/files/cluster_file.hpp"

/// What tests of verification have in common.
namespace lockstep::test {

/// Head size 2, four times the hidden size inside: matrices of 8 x 8, 8 x 32 and 32 x 8.
[[nodiscard]] inline TransformerConfig gpt() {
  TransformerConfig out;
  out.layers = 3;
  out.hidden = 8;
  out.heads = 4;
  out.sequence = 8;
  out.vocabulary = 12;
  return out;
}

/// Two sequences on each replica, nodes of 8 GPUs.
[[nodiscard]] inline VerificationReport verified(ParallelConfig parallel,
                                                 const TransformerConfig& shape, int steps) {
  parallel.global_batch = 2L * parallel.dp;
  VerificationOptions options;
  options.steps = steps;
  return verify_strategy(transformer(shape), parallel, 8, options);
}

/// Four DGX A100: enough for 32 ranks.
[[nodiscard]] inline VerificationStage four_nodes() {
  const std::string configs = LOCKSTEP_SOURCE_DIR "/configs";
  Cluster cluster =
      load_cluster(configs + "/clusters/dgx-a100.json", ClusterSize{std::nullopt, 32, 0}).cluster;
  Device device = load_device(configs + "/devices/a100-sxm4-80gb.json");
  auto cost = cost_model(device, "", std::nullopt, configs);
  return {std::move(cluster), std::move(device), std::move(cost), configs + "/nccl/2.30.json"};
}

}  // namespace lockstep::test
