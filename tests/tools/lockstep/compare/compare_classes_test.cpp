#include <doctest/doctest.h>

#include <string>

#include "tests/tools/new_file.hpp"
#include "tests/tools/run_command.hpp"

/// --classes and --fold of commands that simulate several steps. The oracle is `run` with the same
/// options.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

Json fold_of(const std::string& scenario) {
  return json_of("lockstep run " + scenario + " --classes --suggest 0 --no-variants").at("fold");
}

/// What `report` writes.
std::string page_of(const std::string& arguments) {
  const NewFile file;
  const std::string page = file.path() + ".html";
  const CommandResult result = run_command("lockstep report " + arguments + " -o " + page +
                                           " && cat " + page + " && rm " + page);
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  return result.out;
}

}  // namespace

TEST_CASE("compare has the classes of each step, as run --classes has them") {
  const Json slow =
      json_of("lockstep compare data-parallel-from-scratch --set-rank 3=0.5 --classes");
  CHECK(slow.at("fold_a") == fold_of("data-parallel-from-scratch"));
  CHECK_FALSE(slow.at("fold_a").contains("from_unchanged"));
  CHECK(slow.at("fold_b") == fold_of("data-parallel-from-scratch --set-rank 3=0.5"));
  CHECK(slow.at("fold_b").contains("from_unchanged"));
  const Json both =
      json_of("lockstep compare pipeline-gpipe pipeline-1f1b --fail node0/nic0 --classes");
  CHECK(both.at("fold_a") == fold_of("pipeline-gpipe --fail node0/nic0"));
  CHECK(both.at("fold_b") == fold_of("pipeline-1f1b --fail node0/nic0"));
  // The times are those without the option.
  Json without = json_of("lockstep compare data-parallel-from-scratch --set-rank 3=0.5");
  CHECK_FALSE(without.contains("fold_a"));
  CHECK(slow.at("rows") == without.at("rows"));
  CHECK(slow.at("fingerprint") == without.at("fingerprint"));
}

TEST_CASE("compare prints the classes of each step as a table, and has none in CSV") {
  const std::string command =
      "lockstep compare data-parallel-from-scratch --set-rank 3=0.5 --classes";
  const std::string table = output_of(command);
  const std::size_t a = table.find("\n# classes of ranks of A: all 8 ranks, ");
  const std::size_t b = table.find("\n# classes of ranks of B: all 8 ranks, ");
  REQUIRE(a != std::string::npos);
  REQUIRE(b != std::string::npos);
  CHECK(a < b);
  // A is B without the slow rank.
  constexpr const char* kAgainst = "times of ranks are compared with their own without the changes";
  CHECK(table.find(kAgainst) > b);
  CHECK(contains(table.substr(b), "computes at 0.5 of the speed"));
  CHECK(contains(output_of(command + " --format md"), "classes of ranks of B: all 8 ranks"));
  const CommandResult csv = run_command(command + " --format csv");
  CHECK(csv.status == 2);
  CHECK(contains(csv.err, "--classes: CSV has no classes of ranks"));
}

TEST_CASE("report has the classes of one step and of two") {
  const std::string slow = "data-parallel-from-scratch --set-rank 3=0.5 --suggest 0";
  CHECK_FALSE(contains(page_of(slow), "Equivalence classes of ranks"));
  CHECK(contains(page_of(slow + " --classes"), "times of ranks are compared with their own"));
  const std::string two = page_of("pipeline-gpipe pipeline-1f1b --set-rank 1=0.8 --classes");
  CHECK(contains(two, "Equivalence classes of ranks"));
  CHECK(contains(two, "classes of ranks of A: all 4 ranks"));
  CHECK(contains(two, "classes of ranks of B: all 4 ranks"));
}

/// Individually the ranks are simulated to the same picosecond. Of 256 ranks all are quick where
/// equivalent ones are simulated once, representatives where they are not.
TEST_CASE("compare, report and sensitivity fold equivalent ranks or not") {
  const std::string sensitive =
      " --elasticities --no-layout --no-spreads --figure \"matmul rate\" --fold ";
  const auto sensitivity = [&](const std::string& scenario, const std::string& fold) {
    return json_of("lockstep sensitivity " + scenario + sensitive + fold);
  };
  CHECK(sensitivity("data-parallel-from-scratch", "off").at("rows") ==
        sensitivity("data-parallel-from-scratch", "auto").at("rows"));
  CHECK(sensitivity("llama7b-256", "off").at("fidelity") == "representatives");
  CHECK(sensitivity("llama7b-256", "auto").at("fidelity") == "all");
  const Json compared =
      json_of("lockstep compare data-parallel-from-scratch --set-rank 3=0.5 --classes --fold off");
  CHECK(compared.at("fold_a").at("folded") == false);
  CHECK(compared.at("fold_b") == fold_of("data-parallel-from-scratch --set-rank 3=0.5 --fold off"));
  CHECK(contains(page_of("llama7b-256 --suggest 0 --fold off"), "fidelity representatives"));
  CHECK(contains(page_of("llama7b-256 --suggest 0"), "all 256 ranks, folded into"));
  for (const char* command : {"sensitivity", "compare", "report -o x.html"}) {
    CAPTURE(command);
    const std::string words = " pipeline-1f1b --set-rank 1=0.9 --fold on";
    CHECK(contains(run_command("lockstep " + std::string{command} + words).err,
                   "--fold: expected auto or off, got \"on\""));
  }
}

}  // namespace lockstep
