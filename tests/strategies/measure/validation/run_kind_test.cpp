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

}  // namespace

TEST_CASE("what only some scenarios have is a feature of theirs") {
  CHECK(features_of("zero-7b5-2").empty());
  CHECK(features_of("pipeline-zb") == Features{{"pipeline schedule", "zb-h1"}});
  CHECK(features_of("sequence-ulysses") == Features{{"context parallelism by", "ulysses"}});
  CHECK(features_of("sliding-window") == Features{{"attention", "through windows"}});
  CHECK(features_of("sequence-all-gather", {"model.documents=[4096]"}) ==
        Features{{"attention", "over packed documents"}, {"context parallelism by", "all_gather"}});
  CHECK(features_of("diloco-two-sites") == Features{{"gradients exchanged by", "diloco"}});
  CHECK(features_of("optimizer-states",
                    {"parallel.state.offload=true", "parallel.state.optimizer=momentum",
                     "parallel.state.moments=bf16"}) ==
        Features{{"optimizer", "momentum"},
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

}  // namespace lockstep
