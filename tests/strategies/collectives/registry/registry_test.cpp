#include "strategies/collectives/registry/registry.hpp"
#include "sim/base/check.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <set>
#include <string>

#include "strategies/collectives/registry/spec.hpp"

using namespace lockstep;

namespace {

const CollectiveAlgorithm& row(std::string_view name) {
  return *find_algorithm(Collective::all_reduce, name);
}

}  // namespace

TEST_CASE("every algorithm file has a row, and every row a file") {
  // Every collective has a folder; what stands there without a header of its own is an algorithm.
  const std::filesystem::path folder =
      std::filesystem::path{LOCKSTEP_SOURCE_DIR} / "strategies" / "collectives";
  std::set<std::string> files;
  for (const std::string_view collective : kCollectiveNames) {
    for (const auto& entry : std::filesystem::directory_iterator{folder / collective}) {
      auto header = entry.path();
      header.replace_extension(".hpp");
      if (entry.path().extension() == ".cpp" && entry.path().filename() != "rows.cpp" &&
          !std::filesystem::exists(header))
        files.insert(std::string{collective} + "/" + entry.path().filename().string());
    }
  }
  std::set<std::string> named;
  for (const CollectiveAlgorithm& each : collective_algorithms())
    named.insert(std::string{to_string(each.collective)} + "/" + std::string{each.file});
  CHECK(files == named);
}

TEST_CASE("every row is complete and its example is itself") {
  std::set<std::string> seen;
  for (const CollectiveAlgorithm& each : collective_algorithms()) {
    CAPTURE(each.name);
    CHECK(
        seen.insert(std::string{to_string(each.collective)} + "/" + std::string{each.name}).second);
    for (const std::string_view text :
         {each.summary, each.limits, each.rounds, each.sent_per_rank, each.time, each.source})
      CHECK_FALSE(text.empty());
    const ParsedSpecs parsed = parse_specs(each.example, each.collective);
    CHECK(parsed.errors.empty());
    REQUIRE(parsed.specs.size() == 1);
    CHECK(parsed.specs[0].algorithm == &each);
    CHECK(parsed.specs[0].text() == each.example);
  }
  CHECK(collectives().front() == Collective::all_reduce);
}

TEST_CASE("auxiliary ranks are the servers") {
  CHECK(auxiliary_ranks_of(row("parameter_server"), {8, {}}) == 1);
  CHECK(auxiliary_ranks_of(row("parameter_server"), {8, {{"shards", 4}}}) == 4);
  CHECK(auxiliary_ranks_of(row("ring"), {8, {}}) == 0);
}

TEST_CASE("arguments are held to their ranges") {
  CHECK(validate(row("ring"), {2, {}}).empty());
  CHECK(validate(row("ring"), {0, {}}) ==
        std::vector<std::string>{"ring needs at least 1 rank, got 0"});
  CHECK(validate(row("parameter_server"), {4, {{"shards", 4}}}).empty());
  CHECK(
      validate(row("parameter_server"), {4, {{"shards", 5}}}) ==
      std::vector<std::string>{"parameter_server: shards is 1 to 4 (the number of ranks), got 5"});
  CHECK(validate(row("direct"), {4, {{"shards", 4}}}) ==
        std::vector<std::string>{"direct takes no parameters, got \"shards\""});
  CHECK_THROWS_AS((void)make_schedule(row("ring"), {0, {}}), InternalError);
}

TEST_CASE("a list of specs reads its commas by what follows") {
  const auto texts = [](std::string_view list) {
    const ParsedSpecs parsed = parse_specs(list, Collective::all_reduce);
    CHECK(parsed.errors.empty());
    std::vector<std::string> read;
    for (const AlgorithmSpec& spec : parsed.specs) read.push_back(spec.text());
    return read;
  };
  using Texts = std::vector<std::string>;
  CHECK(texts("ring") == Texts{"ring"});
  CHECK(texts("ring,halving_doubling") == Texts{"ring", "halving_doubling"});
  CHECK(texts("parameter_server:shards=4,ring") == Texts{"parameter_server:shards=4", "ring"});
  CHECK(texts("parameter_server,shards=4") == Texts{"parameter_server:shards=4"});
}

TEST_CASE("what is wrong with a list of specs is said in full") {
  struct Case {
    const char* list;
    std::size_t position;
    std::string message;
  };
  const auto names = fmt::format("{}", fmt::join(algorithm_names(Collective::all_reduce), ", "));
  CHECK(names.starts_with("naive, parameter_server, one_shot, direct, ring, "));
  for (const Case& each : std::initializer_list<Case>{
           {"rng", 0, "no all-reduce named \"rng\"; did you mean \"ring\"?"},
           {"ring,,direct", 5, "expected an algorithm: " + names},
           {"shards=4", 0, "\"shards=4\" has no algorithm before it"},
           {"direct:shards=4", 7, "direct takes no parameters, got \"shards\""},
           {"parameter_server:shard=4", 17,
            "parameter_server has no parameter \"shard\"; did you mean \"shards\"?"},
           {"parameter_server:shards", 17,
            "expected a parameter such as \"key=value\", got \"shards\""},
           {"parameter_server:shards=two", 17, "shards: expected an integer, got \"two\""},
           {"parameter_server:shards=0", 17,
            "parameter_server: shards is 1 to the number of ranks, got 0"},
           {"parameter_server:shards=2,shards=3", 26, "shards is given twice"},
       }) {
    CAPTURE(each.list);
    const ParsedSpecs parsed = parse_specs(each.list, Collective::all_reduce);
    REQUIRE(parsed.errors.size() == 1);
    CHECK(parsed.errors[0].message == each.message);
    CHECK(parsed.errors[0].position == each.position);
  }
  // All of them at once, and what is right beside them.
  const ParsedSpecs parsed = parse_specs("rng,ring,direkt:x=1", Collective::all_reduce);
  CHECK(parsed.errors.size() == 2);
  REQUIRE(parsed.specs.size() == 1);
  CHECK(parsed.specs[0].text() == "ring");
  CHECK(parse_specs("", Collective::all_reduce).errors.size() == 1);
}
