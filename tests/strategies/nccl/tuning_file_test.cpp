#include "strategies/nccl/tuning_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/config/json/config_error.hpp"
#include "tests/strategies/nccl/nccl_helpers.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

namespace lockstep {
namespace {

using enum NcclAlgorithm;
using enum NcclProtocol;

const std::filesystem::path kFolder = kConfigs / "nccl";

NcclTuning tuning_from(std::string_view text) {
  return read_nccl_tuning(parse_json(text, "n.json"), "n", kFolder);
}

std::string whole() {
  return text_of_file(kFolder / "2.30.json");
}

std::string extending() {
  return text_of_file(kFolder / "2.12.json");
}

std::string error_of(std::string_view text) {
  try {
    (void)tuning_from(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

bool says(std::string_view text, std::string_view part) {
  return error_of(text).find(part) != std::string::npos;
}

TEST_CASE("the shipped tunings are of two versions") {
  CHECK(nccl_tuning_ids(kFolder) == std::vector<std::string>{"2.12", "2.30"});
  CHECK(tuning_of().version == "2.30.7");
  CHECK(tuning_of().id == "2.30");
}

TEST_CASE("2.30 reads as NCCL's tables have it") {
  const NcclTuning& tuning = tuning_of();
  CHECK(tuning.base_latency[tree][ll] == 6800_ns);
  CHECK(tuning.hop_latency[NcclHop::net][nvls_tree][simple] == 20'900_ns);
  CHECK_FALSE(tuning.hop_latency[NcclHop::net][nvls_tree][ll].has_value());
  const NcclCaps& hopper = tuning.caps[NcclArchitecture::hopper];
  CHECK(hopper.ll_total[NcclSpan::one_node] == 141_GBps);
  CHECK_FALSE(hopper.nvls_tree_channel[NcclSpan::one_node].has_value());
  CHECK(tuning.bandwidth.tree_ll128_one_node == 7.0 / 9);
  CHECK(tuning.tree_correction.factors[simple].size() == 23);  // 64 B to 256 MiB
  CHECK(tuning.ladders[NcclArchitecture::hopper].intra.front() == 60_GBps);
}

TEST_CASE("dips of the tree correction are .4 with LL, .6 with LL128 and .5 with Simple") {
  const auto least = [](NcclProtocol protocol) {
    const auto& factors = tuning_of().tree_correction.factors[protocol];
    return *std::min_element(factors.begin(), factors.end());
  };
  CHECK(least(ll) == 0.4);
  CHECK(least(ll128) == 0.6);
  CHECK(least(simple) == 0.5);
}

TEST_CASE("2.12 has its own base latencies and 2.30's other figures") {
  const NcclTuning& old = tuning_of("2.12");
  CHECK(old.version == "2.12");
  CHECK(old.base_latency[ring][ll128] == 10_us);
  CHECK(old.base_latency[pat][simple] == 8_us);  // not said: as in the file it extends
  CHECK(old.hop_latency[NcclHop::nvlink][ring][ll] == 600_ns);
  CHECK_FALSE(old.has[nvls]);
  CHECK(old.has[tree]);
}

TEST_CASE("a file that extends another says only what differs") {
  CHECK(error_of(mutated(extending(), {"", "/base_latency/tree", ""})) == "accepted");
  CHECK(error_of(mutated(extending(), {"", "/algorithms", ""})) == "accepted");
  CHECK(says(mutated(extending(), {"", "/extends", "\"2.99\""}),
             "/extends: the file it extends cannot be used: "));
  CHECK(error_of(mutated(extending(), {"", "/extends", "\"2.12\""})) == "accepted");
  CHECK(says(mutated(extending(), {"", "/extends", ""}), "the key \"hop_latency\" is missing"));
}

TEST_CASE("mistakes are reported with their place") {
  CHECK(error_of("{\"version\": \"2\", \"summary\": \"s\", \"extends\": \"2.30\",\n"
                 " \"chanels\": {}}") ==
        "n.json:2:2: error: /chanels: unknown key \"chanels\"; did you mean \"channels\"?\n"
        "1 error; nothing was run");
  CHECK(says(mutated(whole(), {"", "/algorithms/names", "[\"rign\"]"}),
             "/algorithms/names/0: no algorithm of NCCL named \"rign\"; did you mean \"ring\"?"));
  CHECK(says(mutated(whole(), {"", "/search/hopper/intra", "[\"30 GB/s\", \"60 GB/s\"]"}),
             "/search/hopper/intra/1: expected speeds from high to low"));
  CHECK(says(mutated(whole(), {"", "/enabled_by_default/ll128_intra", "\"nvlink\""}),
             "no path named \"nvlink\""));
}

TEST_CASE("schema and reader accept every shipped tuning and refuse the same changes") {
  const SchemaAgreement both{kConfigs / "schema/nccl-tuning.schema.json",
                             [](std::string_view text) { (void)tuning_from(text); }};
  CHECK(both.verdict(whole()) == "both accept");
  CHECK(both.verdict(extending()) == "both accept");
  for (const Mutation& m : std::vector<Mutation>{
           {"unknown key", "/base_latancy", "1"},
           {"missing block", "/threads", ""},
           {"missing version", "/version", ""},
           {"missing source", "/tree_correction/source", ""},
           {"empty source", "/threads/source", "\"\""},
           {"missing row", "/base_latency/nvls", ""},
           {"missing protocol", "/base_latency/ring/ll", ""},
           {"protocol that is not run", "/base_latency/nvls/ll", "\"1 us\""},
           {"bare number", "/base_latency/ring/ll", "6.6"},
           {"negative time", "/net_overhead/amd", "\"-1 us\""},
           {"missing column", "/bandwidth_caps/volta/ll_total/one_node", ""},
           {"unknown column", "/bandwidth_caps/volta/ll_total/four_nodes", "\"1 GB/s\""},
           {"zero cap", "/bandwidth_caps/hopper/nvls_tree_channel/one_node", "\"0 GB/s\""},
           {"efficiency above 1", "/bandwidth_caps/hopper/nvls_efficiency", "1.1"},
           {"unknown architecture", "/ll_total_on_several_nodes/amd", "\"turing\""},
           {"unknown CPU", "/recognition/sockets/0/cpu", "\"arm\""},
           {"factor of zero", "/bandwidth_factors/pat", "0"},
           {"ratio of three", "/bandwidth_factors/tree_ll128", "[1, 2, 3]"},
           {"ratio as number", "/bandwidth_factors/tree_ll128", "0.9"},
           {"no factors", "/tree_correction/ll", "[]"},
           {"no speeds", "/search/volta/intra", "[]"},
           {"half a channel", "/channels/factor", "1.5"},
           {"no chunk", "/chunks/step/ll", "\"0 B\""},
           {"no chunk of NVLS", "/chunks/nvls/step", "\"0 B\""},
           {"no channel of NVLS", "/chunks/nvls/channels/hopper", "0"},
           {"no algorithms", "/algorithms/names", "[]"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(whole(), m)) == "both refuse");
  }
  for (const Mutation& m :
       std::vector<Mutation>{{"without a block", "/algorithms", ""},
                             {"another block", "/latency_terms",
                              R"({"collnet_direct_per_peer": "1 us", "pat_network_divisor": 2,
                                  "pat_per_rank": "1 us", "source": "x"})"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(extending(), m)) == "both accept");
  }
  for (const Mutation& m : std::vector<Mutation>{
           {"half a block", "/latency_terms", R"({"pat_per_rank": "1 us", "source": "x"})"},
           {"without what it extends", "/extends", ""},
           {"unknown key", "/threds", "1"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(extending(), m)) == "both refuse");
  }
}

}  // namespace
}  // namespace lockstep
