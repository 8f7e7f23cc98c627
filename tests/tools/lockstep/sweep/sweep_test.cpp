#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

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
