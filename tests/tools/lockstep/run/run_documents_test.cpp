#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run_command.hpp"

/// Documents packed into sequences, as `lockstep run` and `lockstep plan` take them.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kScenario = R"({"cluster": {"file": "dgx-a100", "nodes": 2},
  "model": {"name": "m", "layers": 4, "hidden": 512, "heads": 8, "seq": 4096, "vocab": 1024,
            "gated_mlp": true DOCUMENTS},
  "parallel": {"zero": 1, "global_batch": 32}})";

const std::string kUniform = R"({"distribution": "uniform", "longest": 3000})";
const std::string kLognormal = R"({"distribution": "lognormal", "mean": 600})";

std::string with(const std::string& documents) {
  return replaced(kScenario, "DOCUMENTS", ", \"documents\": " + documents);
}

/// All that a result says but for what was asked.
std::string said(const TemporaryFile& file, const std::string& set = "") {
  Json out = json_of("lockstep run " + file.path() + (set.empty() ? "" : " --set '" + set + "'"));
  for (const char* key : {"config", "seed", "name"}) out.erase(key);
  return out.dump();
}

}  // namespace

TEST_CASE("every key of drawn documents has an effect, or is refused") {
  const TemporaryFile uniform{with(kUniform)};
  const TemporaryFile lognormal{with(kLognormal)};
  struct Key {
    std::string key;
    std::string of_uniform{};    // empty: refused
    std::string of_lognormal{};  // likewise
  };
  const std::vector<Key> keys{{"shortest", "2000", ""},
                              {"longest", "500", ""},
                              {"mean", "", "3000"},
                              {"sigma", "", "0.1"},
                              {"seed", "7", "7"}};
  std::set<std::string> names{"distribution"};  // neither has what the other needs
  for (const Key& row : keys) {
    CAPTURE(row.key);
    names.insert(row.key);
    const auto check = [&](const TemporaryFile& file, const std::string& value) {
      const std::string key = "model.documents." + row.key + "=";
      if (!value.empty()) {
        CHECK(said(file) != said(file, key + value));
        return;
      }
      const CommandResult refused =
          run_command("lockstep run " + file.path() + " --set " + key + "2");
      CHECK(refused.status == 2);
      CHECK(contains(refused.err, "/model/documents/" + row.key + ": "));
      CHECK(contains(refused.err, "1 error; nothing was run"));
    };
    check(uniform, row.of_uniform);
    check(lognormal, row.of_lognormal);
  }
  const Json schema = Json::parse(text_of(LOCKSTEP_SOURCE_DIR "/configs/schema/model.schema.json"));
  std::set<std::string> described;
  for (const Json& model : schema["oneOf"]) {
    if (!model["properties"].contains("documents")) continue;
    for (const Json& form : model["properties"]["documents"]["oneOf"])
      if (form.contains("properties"))
        for (const auto& [key, value] : form["properties"].items()) described.insert(key);
  }
  CHECK(described == names);
}

TEST_CASE("a step of documents that was printed and is run again is the same") {
  for (const std::string& documents :
       {std::string{"[1000, 300]"}, std::string{"[[4096], [64, 1000], [1]]"}, kUniform,
        kLognormal}) {
    CAPTURE(documents);
    const TemporaryFile file{with(documents)};
    Json first = json_of("lockstep run " + file.path());
    const TemporaryFile printed{first["config"].dump()};
    Json again = json_of("lockstep run " + printed.path());
    CHECK(again["config"]["model"] == first["config"]["model"]);
    CHECK(again["step_time_s"] == first["step_time_s"]);
  }
}

TEST_CASE(
    "representatives of ranks with unequal documents or experts are said to be an approximation") {
  const std::string run = " --fidelity representatives";
  const std::string words =
      "ranks have unequal documents or experts: how they delay others is approximate";
  for (const std::string& documents : {std::string{"[[4096], [64], [1000]]"}, kLognormal})
    CHECK(
        contains(output_of("lockstep run " + TemporaryFile{with(documents)}.path() + run), words));
  for (const std::string& documents : {std::string{"[1000]"}, std::string{"[[4096]]"}})
    CHECK_FALSE(
        contains(output_of("lockstep run " + TemporaryFile{with(documents)}.path() + run), words));
  const std::string experts =
      "lockstep run gpt-moe --no-variants --suggest 0 --ignore-memory" + run;
  CHECK(contains(output_of(experts + " --set parallel.expert_skew=2"), words));
  CHECK_FALSE(contains(output_of(experts), words));
  const TemporaryFile drawn{with(kLognormal)};
  CHECK_FALSE(contains(output_of("lockstep run " + drawn.path() + " --fidelity all"), words));
}

}  // namespace lockstep
