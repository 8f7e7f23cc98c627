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

/// Without the stage of ZeRO and InfiniBand, which most scenarios have.
Features further(const std::string& scenario, const std::vector<std::string>& set = {}) {
  Features out = features_of(scenario, set);
  for (const char* stage : {"1", "2", "3"}) out.erase({"ZeRO stage", stage});
  out.erase({"fabric", "infiniband"});
  return out;
}

}  // namespace

TEST_CASE("what only some scenarios have is a feature of theirs") {
  CHECK(features_of("zero-7b5-0") == Features{{"fabric", "infiniband"}});
  CHECK(features_of("zero-7b5-2") == Features{{"ZeRO stage", "2"}, {"fabric", "infiniband"}});
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

TEST_CASE("the transport of the NICs is a feature of runs over several nodes") {
  const auto of = [](const std::string& cluster) {
    return features_of("llama3-70b-dgx-h100", {"cluster={\"file\": \"" + cluster +
                                               "\", \"nodes\": 8, \"gpu\": \"h100-sxm5-80gb\"}"});
  };
  const Features usual = of("dgx-h100");
  const auto more = [&usual](Features features) {
    for (const auto& each : usual) features.erase(each);
    return features;
  };
  CHECK(usual.contains({"fabric", "infiniband"}));
  CHECK(more(of("hgx-h100-ethernet")) == Features{{"fabric", "roce"}});
  CHECK(more(of("oci-bm-gpu-h100")) == Features{{"fabric", "roce"}});
  CHECK(more(of("gcp-a3-mega")) == Features{{"fabric", "tcpxo"}});
  CHECK(more(of("aws-p5")) == Features{{"fabric", "efa"}});
  CHECK(more(of("two-sites")) == Features{{"fabric", "of several sites"}});
  CHECK(more(of("pcie-box")) == Features{{"GPUs of a node", "without NVLink"}});
  CHECK(more(of("mi300x-box")) == Features{{"GPUs of a node", "linked without switches"}});
  CHECK(features_of("data-parallel-from-scratch",
                    {"cluster={\"file\": \"ring\", \"ranks\": 4, \"gpu\": \"h100-sxm5-80gb\"}"})
            .contains({"cluster", "ring or torus"}));
  CHECK(more(features_of("llama3-70b-dgx-h100", {"cluster=\"aws-p5\"", "cluster.nodes=8"})) ==
        Features{{"fabric", "efa"}});
  for (const char* fabric : {"infiniband", "roce", "efa", "tcpxo", "slingshot", "omnipath"})
    CHECK(features_of("llama3-70b-dgx-h100",
                      {std::string{R"(cluster={"gpu": "h100-sxm5-80gb", "gpus": 64, "fabric": ")"} +
                       fabric + "\"}"})
              .contains({"fabric", fabric}));
}

// 8 NICs of 400 Gb/s for 8 GPUs; one of 10 Gb/s for 8, or for 16; 32 NICs of 100 Gb/s for 8, as
// AWS states for p5. Of one node nothing goes through NICs.
TEST_CASE("a run has the GPUs that share a node, and their part of its NICs") {
  const auto of = [](const std::string& cluster) {
    return run_kind_of(load_scenario(kConfigs + "/scenarios/llama3-70b-dgx-h100.json",
                                     {"cluster=" + cluster}, kConfigs));
  };
  CHECK(of(R"({"file": "dgx-h100", "nodes": 8})").nic_gbps_per_gpu == 400);
  CHECK(of(R"({"file": "dgx-h100", "nodes": 8})").gpus_per_node == 8);
  CHECK(of(R"({"file": "aws-p5", "nodes": 8})").nic_gbps_per_gpu == 400);
  const std::string gpus = R"({"gpu": "h100-sxm5-80gb", "gpus": 64, )";
  CHECK(of(gpus + R"("nic_gbps": 10, "nics_per_node": 1})").nic_gbps_per_gpu == 1.25);
  const RunKind large = of(gpus + R"("gpus_per_node": 16, "nic_gbps": 10, "nics_per_node": 1})");
  CHECK(large.nic_gbps_per_gpu == 0.625);
  CHECK(large.gpus_per_node == 16);
  const RunKind alone =
      run_kind_of(load_scenario(kConfigs + "/scenarios/mlp-two-gpus.json", {}, kConfigs));
  CHECK(alone.gpus_per_node == 2);
  CHECK(alone.nic_gbps_per_gpu == 0);
}

}  // namespace lockstep
