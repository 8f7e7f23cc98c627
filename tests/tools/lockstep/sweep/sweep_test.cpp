#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kBinary{LOCKSTEP_BINARY};

Json result_of(const std::string& arguments) {
  return Json::parse(output_of(kBinary + " " + arguments + " --format json"));
}

}  // namespace

// The oracle is the row that `run` prints for the same values.
TEST_CASE("a row of a sweep has the columns and values of a run") {
  const Json swept = result_of("sweep llama7b-256 --vary tp=4,8 --nic 200G");
  REQUIRE(swept["rows"].size() == 2);
  const Json run = result_of("run llama7b-256 --set parallel.tp=4 --set parallel.dp=" +
                             swept["rows"][0]["dp"].dump() + " --nic 200G");
  for (const auto& [key, value] : run["rows"][0].items()) {
    CAPTURE(key);
    CHECK(swept["rows"][0].at(key) == value);
  }
  CHECK(swept["rows"][1]["parallel.tp"] == 8);
  CHECK(swept["rows"][1]["state"] == "fits");
}

// The oracle is `run` with the same seed.
TEST_CASE("a sweep says what was changed, who was drawn and with which fidelity") {
  const std::string draws = " --set-rank random:5%=0.8..0.9";
  const Json run = result_of("run zero-7b5-3 --seed 2 --suggest 0" + draws);
  REQUIRE(run["drawn_speeds"].size() == 3);  // 5 % of 64, to the nearest
  const Json swept = result_of("sweep zero-7b5-3 --vary seed=2,3" + draws);
  CHECK(swept["rows"][0]["drawn_speeds"] == run["drawn_speeds"]);
  CHECK(swept["rows"][1]["drawn_speeds"] != run["drawn_speeds"]);
  CHECK(swept["seed"] == 2);
  CHECK(swept["config"]["run"]["set_rank"][0][0] == "random:5%");

  const auto said = [](const std::string& arguments, const std::string& text) {
    return output_of(kBinary + " sweep zero-7b5-3 " + arguments).find(text) != std::string::npos;
  };
  const std::string first =
      run["drawn_speeds"][0]["rank"].dump() + " at " + run["drawn_speeds"][0]["speed"].dump();
  const std::string equal =
      "--vary micro_batch=1 --set parallel.dp=64 --seed 2 --fail rail3" + draws;
  CHECK(said(equal,
             "\n# with --set parallel.dp=64 --set seed=2 --set-rank random:5% "
             "compute=0.8..0.9 --fail rail3\n# 3 of 64 GPUs drawn with seed 2: rank " +
                 first));
  CHECK(said(equal + " --format md", "- 3 of 64 GPUs drawn with seed 2: rank " + first));
  CHECK(said("--vary seed=2,3" + draws, "  " + first));  // in a column
  CHECK(said("--vary seed=2,3 --format csv" + draws, '"' + first));
  CHECK(said("--vary seed=2 --fidelity representatives --set-rank 17=0.8",
             "fidelity representatives at 1 of 1 simulated points"));
  CHECK_FALSE(said("--vary seed=2 --fidelity all --set-rank 17=0.8", "representatives"));
}

// The oracle is the sweep without a store; the second run simulates no point.
TEST_CASE("a sweep from its store says who was drawn, at which speeds and with which fidelity") {
  const NewFile store;
  const std::string sweep =
      "sweep zero-7b5-3 --vary seed=2,3 --fidelity representatives --set-rank random:5%=0.8..0.9 "
      "--set-rank random:1% 'compute=0.5, from=10 ms, until=20.5 ms' --set-rank 7 'compute=0.7, "
      "from=1 ms'";
  const Json plain = result_of(sweep);
  const std::string kept = sweep + " --store " + store.path();
  CHECK(result_of(kept)["rows"][0]["drawn_speeds"] == plain["rows"][0]["drawn_speeds"]);
  const Json again = result_of(kept + " --resume");
  REQUIRE(plain["rows"][1]["drawn_speeds"].size() >= 3);
  for (const std::size_t i : {0, 1})
    CHECK(again["rows"][i]["drawn_speeds"] == plain["rows"][i]["drawn_speeds"]);
  CHECK(again["seed"] == 2);
  const std::string table = output_of(kBinary + " " + kept + " --resume");
  CHECK(table.find("fidelity representatives at 2 of 2 simulated points") != std::string::npos);
  CHECK(table == output_of(kBinary + " " + sweep));
}

TEST_CASE("a sweep without a point that fits ends with exit code 1, a wrong one with 2") {
  const auto status = [](const std::string& arguments) {
    return run_command(kBinary + " sweep " + arguments + " 2>&1").status;
  };
  CHECK(status("llama3-70b-dgx-h100 --vary tp=1") == 1);
  CHECK(status("llama3-70b-dgx-h100") == 2);
  CHECK(status("llama3-70b-dgx-h100 --vary tp=3") == 2);
  CHECK(status("llama3-70b-dgx-h100 --vary tp=4 --fidelity some") == 2);
  CHECK(status("llama3-70b-dgx-h100 --vary tp=4 --space a.json") == 2);
}

}  // namespace lockstep
