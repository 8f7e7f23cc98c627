#include "strategies/measure/validation/run_kind.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

const std::string kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

using Features = std::set<std::pair<std::string, std::string>>;

Features features_of(const std::string& scenario, const std::vector<std::string>& set = {}) {
  return run_kind_of(load_scenario(kConfigs + "/scenarios/" + scenario + ".json", set, kConfigs))
      .features;
}

/// Without the stage of ZeRO, which most scenarios have.
Features further(const std::string& scenario, const std::vector<std::string>& set = {}) {
  Features out = features_of(scenario, set);
  for (const char* stage : {"1", "2", "3"}) out.erase({"ZeRO stage", stage});
  return out;
}

}  // namespace

TEST_CASE("what only some scenarios have is a feature of theirs") {
  CHECK(features_of("zero-7b5-0").empty());
  CHECK(features_of("zero-7b5-2") == Features{{"ZeRO stage", "2"}});
  CHECK(features_of("pipeline-zb") == Features{{"pipeline schedule", "zb-h1"}});
  CHECK(further("sequence-ulysses") == Features{{"context parallelism by", "ulysses"}});
  CHECK(further("sliding-window") == Features{{"attention", "through windows"}});
  CHECK(further("sequence-all-gather", {"model.documents=[4096]"}) ==
        Features{{"attention", "over packed documents"}, {"context parallelism by", "all_gather"}});
  CHECK(further("diloco-two-sites") ==
        Features{{"fabric", "of several sites"}, {"gradients exchanged by", "diloco"}});
  CHECK(further("optimizer-states",
                {"parallel.state.offload=true", "parallel.state.optimizer=momentum",
                 "parallel.state.moments=bf16"}) == Features{{"optimizer", "momentum"},
                                                             {"optimizer moments in", "bf16"},
                                                             {"optimizer states", "on the host"}});
  const Features of = features_of("deepseek-v3-2048-h800");
  for (const auto& feature : Features{{"attention", "with latent keys and values"},
                                      {"expert dispatcher", "deepep"},
                                      {"overlap", "ep_pairs"},
                                      {"pipeline schedule", "dualpipe-v"},
                                      {"prediction", "of several tokens"}})
    CHECK(of.contains(feature));
}

TEST_CASE("layouts and recipes without a measured run are features") {
  CHECK(features_of("moe-parallel-folding")
            .contains({"experts", "with tensor parallelism of their own"}));
  CHECK(features_of("llama3-70b-dgx-h100", {"parallel.precision=fp8-current"})
            .contains({"recipe of fp8", "fp8-current"}));
  CHECK(features_of("llama3-70b-dgx-h100",
                    {"parallel.precision=fp8-delayed", "parallel.state.weights=fp8"})
            .contains({"weights in", "fp8"}));
  CHECK(features_of("zero-7b5-3", {"parallel.reshard_after_forward=false"})
            .contains({"ZeRO-3", "that keeps gathered weights for backward"}));
  const std::pair<std::string, std::string> modules{"recomputation",
                                                    "of other modules than the core of attention"};
  CHECK(features_of("llama3-70b-dgx-h100",
                    {"parallel.recompute=selective", "parallel.recompute_modules=[\"mlp\"]"})
            .contains(modules));
  CHECK_FALSE(features_of("llama3-70b-dgx-h100", {"parallel.recompute=selective"})  //
                  .contains(modules));
}

// Measured runs have NVLink with switches in a node, and InfiniBand, RoCE or Omni-Path between.
TEST_CASE("networks without a measured run are features") {
  const auto of = [](const std::string& cluster) {
    return features_of("llama3-70b-dgx-h100", {"cluster={\"file\": \"" + cluster +
                                               "\", \"nodes\": 8, \"gpu\": \"h100-sxm5-80gb\"}"});
  };
  const Features usual = of("dgx-h100");
  const auto more = [&usual](Features features) {
    for (const auto& each : usual) features.erase(each);
    return features;
  };
  CHECK(of("hgx-h100-ethernet") == usual);
  CHECK(of("oci-bm-gpu-h100") == usual);
  CHECK(more(of("aws-p5")) == Features{{"fabric", "of slow transport, such as EFA"}});
  CHECK(more(of("two-sites")) == Features{{"fabric", "of several sites"}});
  CHECK(more(of("pcie-box")) == Features{{"GPUs of a node", "without NVLink"}});
  CHECK(more(of("mi300x-box")) == Features{{"GPUs of a node", "linked without switches"}});
  CHECK(features_of("data-parallel-from-scratch",
                    {"cluster={\"file\": \"ring\", \"ranks\": 4, \"gpu\": \"h100-sxm5-80gb\"}"})
            .contains({"cluster", "ring or torus"}));
  CHECK(more(features_of("llama3-70b-dgx-h100", {"cluster=\"aws-p5\"", "cluster.nodes=8"})) ==
        Features{{"fabric", "of slow transport, such as EFA"}});
}

}  // namespace lockstep
