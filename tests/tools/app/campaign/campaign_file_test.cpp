#include "tools/app/campaign/file/campaign_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "sim/config/json/config_error.hpp"
#include "tests/tools/run_command.hpp"
#include "tests/topologies/files/schema_agreement.hpp"
#include "tools/app/campaign/campaign.hpp"
#include "tools/app/campaign/file/quantities.hpp"

using namespace lockstep;
using namespace lockstep::app;

namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

}  // namespace

TEST_CASE("campaigns: schema and reader accept all shipped files and refuse the same changes") {
  const SchemaAgreement both{kConfigs / "schema/campaign.schema.json", [](std::string_view text) {
                               check_campaign_file(parse_json(text, "c.json"));
                             }};
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(kConfigs / "campaigns")) {
    if (file.path().extension() != ".json") continue;
    ++count;
    CAPTURE(file.path().string());
    CHECK(both.verdict(text_of_file(file.path())) == "both accept");
  }
  CHECK(count == 2);
  const std::string good = text_of_file(kConfigs / "campaigns/typical-failures.json");
  for (const Mutation& m :
       std::vector<Mutation>{{"unknown key", "/cuases", "[]"},
                             {"unknown key of a cause", "/causes/0/mttr", "\"1 h\""},
                             {"no rate", "/causes/3/mtbf", ""},
                             {"two rates", "/causes/0/mtbf", "\"1 h\""},
                             {"a rate of zero", "/causes/3/mtbf", "\"0 h\""},
                             {"a number without its unit", "/causes/3/mtbf", "20"},
                             {"unknown unit", "/causes/0/detection", "\"2 minutes\""},
                             {"negative time", "/causes/0/detection", "\"-2 min\""},
                             {"unknown domain", "/causes/0/domain", "\"rack\""},
                             {"unknown policy", "/policy", "\"retry\""},
                             {"no checkpoint", "/checkpoint", ""},
                             {"no storage", "/checkpoint/storage", ""},
                             {"unknown rule", "/checkpoint/interval", "\"best\""},
                             {"unknown mode", "/checkpoint/mode", "\"async\""},
                             {"storage without unit", "/checkpoint/storage/write", "\"20\""},
                             {"speedup", "/stragglers/per_gpu/0/slowdown", "0.5"},
                             {"fraction above one", "/stragglers/per_gpu/0/fraction", "2"},
                             {"energy without static power", "/energy/static_power", ""},
                             {"power without unit", "/energy/static_power", "485"},
                             {"impossible pue", "/pue", "0.9"},
                             {"half a spare node", "/spares/nodes", "0.5"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(good, m)) == "both refuse");
  }
}

TEST_CASE("campaigns: schema and reader know the same units") {
  const SchemaAgreement both{kConfigs / "schema/campaign.schema.json", [](std::string_view text) {
                               check_campaign_file(parse_json(text, "c.json"));
                             }};
  const std::string good = text_of_file(kConfigs / "campaigns/typical-failures.json");
  std::size_t accepted = 0;
  for (const std::string pointer : {"/causes/0/detection", "/causes/3/mtbf", "/checkpoint/interval",
                                    "/energy/static_power", "/energy/per_flop"})
    for (const std::string unit :
         {"ps", "ns",     "us",      "µs",      "ms",      "s",       "min",    "h",  "d",
          "y",  "year",   "W",       "kW",      "MW",      "mW",      "J/FLOP", "J",  "%",
          "",   "J/FLOP", "nJ/FLOP", "pJ/FLOP", "fJ/FLOP", "aJ/FLOP", "J/B",    "GB", "GB/s"})
      for (const std::string number : {"1.5", "1.5 ", "2.", "1e1 ", "0x1 ", "-1 ", "+1 ", ".5 "}) {
        const std::string verdict =
            both.verdict(mutated(good, {"", pointer, "\"" + number + unit + "\""}));
        CAPTURE(pointer);
        CAPTURE(number + unit);
        CHECK(verdict.starts_with("both "));
        accepted += verdict == "both accept" ? 1U : 0U;
      }
  // Four forms of 8 names of times, three times; of 3 of powers; of 5 of energies (one twice).
  CHECK(accepted == 4 * (8 * 3 + 3 + 5));
}

TEST_CASE("campaigns: errors name the place, the value and what is allowed") {
  const auto error = [](std::string_view text) -> std::string {
    try {
      (void)read_campaign(parse_json(text, "c.json"));
    } catch (const ConfigError& thrown) {
      return thrown.what();
    }
    return "accepted";
  };
  const auto of_cause = [&](const std::string& cause) {
    return error(R"({"checkpoint": {"save_time": "5 s", "load_time": "5 s"}, "causes": [)" + cause +
                 "]}");
  };
  CHECK(contains(of_cause(R"({"name": "a", "domain": "gpu", "mtbf": 5})"),
                 "/causes/0/mtbf: expected a time such as \"90 s\", \"12 h\" or \"54 d\" (units "
                 "us, ms, s, min, h, d, y), got the number 5"));
  CHECK(contains(of_cause(R"({"name": "a", "domain": "gpu", "mtbf": "0 s"})"),
                 "/causes/0/mtbf: expected a time above zero"));
  CHECK(contains(of_cause(R"({"name": "a", "domain": "switch", "mtbf": "5 h"})"),
                 "\"domains\": {\"switch\": {\"nodes\": 16}}"));
  CHECK(contains(of_cause(R"({"name": "a", "domain": "gpu", "mtbf": "5 h"},
                             {"name": "a", "domain": "node", "mtbf": "5 h"})"),
                 "c.json:2:"));
  CHECK(contains(of_cause(R"({"name": "a", "domain": "software", "mtbf": "5 h", "repair": "1 h"})"),
                 "software is restarted, not repaired"));
  CHECK(contains(error(R"({"checkpoint": {}})"), "expected the storage"));
  CHECK(contains(error(R"({"steps": 5, "duration": "5 d",
                           "checkpoint": {"save_time": "5 s", "load_time": "5 s"}})"),
                 "expected at most one of steps, tokens and duration"));
}

TEST_CASE("campaigns: times beyond 106 days, and observed rates") {
  CHECK(parse_long_time("54 d") == LongTime::seconds(54 * 86400));
  CHECK(parse_long_time("5.8y") == LongTime::seconds(5.8 * 31'557'600));
  CHECK_FALSE(parse_long_time("54"));
  CHECK_FALSE(parse_long_time("d"));
  CHECK_FALSE(parse_long_time("1e300 s"));
  const CampaignPlan plan =
      read_campaign(read_json(kConfigs / "campaigns/llama3-405b-54-days.json"));
  // 148 failures of 16,384 GPUs in 54 days: one in 16,384 * 54 / 148 days of a GPU.
  CHECK(plan.causes.front().mtbf.days() == doctest::Approx(16'384 * 54 / 148.0));
}
