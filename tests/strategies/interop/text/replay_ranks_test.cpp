#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/tools/run_command.hpp"

/// `lockstep replay` with ranks that differ, and the classes of ranks that it reports.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kPair = "lockstep replay tests/data/goal/pair.goal --cluster star ";
const std::string kChakra = "lockstep replay tests/data/chakra/pair --cluster star ";

// star.json: a hop of 2 us, 50 GB/s.
constexpr double kHop = 2e-6;
constexpr double kPerByte = 1 / 50e9;

double time_of(const std::string& command) {
  return rows_of(command)[0]["time_s"].get<double>();
}

doctest::Approx near(double seconds) {
  return doctest::Approx(seconds).epsilon(1e-9);
}

/// Pairs of ranks that exchange what the others do: a computation of 10 us, then a message each
/// way.
std::string pairs_of_ranks(int pairs) {
  std::string out = fmt::format("num_ranks {}\n", 2 * pairs);
  for (int rank = 0; rank < 2 * pairs; ++rank)
    out += fmt::format(
        "rank {0} {{\n  l1: calc 10000\n  l2: send 50000b to {1} tag 1\n"
        "  l3: recv 50000b from {1} tag 1\n  l2 requires l1\n  l4: calc 5000\n"
        "  l4 requires l3\n}}\n",
        rank, rank % 2 == 0 ? rank + 1 : rank - 1);
  return out;
}

}  // namespace

// Rank 0 computes for 10 us, twice as long at half its speed; then as in pair.goal's other tests.
TEST_CASE("a rank of a trace computes at its own speed") {
  const double rest = (1048576 + 4096) * kPerByte + kHop + 4096 * kPerByte + kHop;
  CHECK(time_of(kPair) == near(10e-6 + 5e-6 + rest));
  CHECK(time_of(kPair + "--set-rank 0=0.5") == near(20e-6 + 5e-6 + rest));
  CHECK(time_of(kPair + "--set-rank 1=0.5") == near(10e-6 + 10e-6 + rest));
  CHECK(time_of(kPair + "--set-rank all=0.5") == time_of(kPair + "--compute 2"));
  CHECK(time_of(kPair + "--set-rank all=0.5 --compute 0.5") == time_of(kPair));
  CHECK(time_of(kPair + "--set-rank random:100%=0.5") == time_of(kPair + "--compute 2"));
}

// Nothing of rank 0 begins before; its messages wait for its computation.
TEST_CASE("a rank of a trace starts late, or takes time for each message") {
  const double usual = time_of(kPair);
  CHECK(time_of(kPair + "--set-rank 0 'start=30 us'") == near(usual + 30e-6));
  CHECK(time_of(kPair + "--set-rank 1 'start=1 us'") == near(usual));  // it waits for rank 0
  CHECK(time_of(kPair + "--set-rank 1 'message_overhead=3 us'") > usual);
  CHECK(time_of(kChakra + "--set-rank 0 'start=30 us'") > time_of(kChakra));
}

TEST_CASE("slow ranks of a trace fold, to the same picosecond") {
  const TemporaryFile pairs(pairs_of_ranks(8));
  const std::string command = "lockstep replay --cluster star " + pairs.path() + " ";
  for (const std::string more :
       {"--set-rank 3=0.5", "--set-rank 3,9=0.5", "--set-rank random:10%=0.7 --seed 4",
        "--set-rank 4..5 'message_overhead=2 us'", "--set-rank 2=0.9 --set-rank 3=0.8"}) {
    CAPTURE(more);
    const Json folded = json_of(command + more + " --classes");
    const Json unfolded = json_of(command + more + " --classes --fold off");
    CHECK(folded["rows"] == unfolded["rows"]);
    CHECK(folded["fingerprint"] == unfolded["fingerprint"]);
    CHECK(folded["fold"]["folded"] == true);
    CHECK(unfolded["fold"]["folded"] == false);
    std::int64_t ranks = 0;
    for (const Json& each : folded["fold"]["members"]) ranks += each["ranks"].get<std::int64_t>();
    CHECK(ranks == 16);
  }
}

/// Of eight pairs one has a rank at half its speed: 10 us more. The other of the pair waits for its
/// message, so that it parts after it, and both are 10 us and what the second computation takes
/// more late at the end.
TEST_CASE(
    "classes of a trace say who is slow, when the others learn of it, and how late they are") {
  const TemporaryFile pairs(pairs_of_ranks(8));
  const std::string command =
      "lockstep replay --cluster star " + pairs.path() + " --set-rank 6=0.5 --classes";
  const Json classes = json_of(command)["fold"]["members"];
  REQUIRE(classes.size() == 3);
  CHECK(classes[0]["representative"] == 6);
  CHECK(classes[0]["difference"] == "computes at 0.5 of the speed");
  CHECK(classes[0]["parts"]["operation"] == "computation");
  CHECK(classes[0]["parts"]["at_s"].get<double>() == near(10e-6));
  CHECK(classes[1]["representative"] == 7);
  CHECK(classes[1]["difference"] == "different peers or links (direct or indirect)");
  CHECK(classes[1]["parts"]["operation"] == "receive from rank 6");
  CHECK(classes[1]["parts"]["later_s"].get<double>() == near(10e-6));
  CHECK(classes[2]["ranks"] == 14);
  CHECK(classes[2]["parts"].is_null());
  const std::string table = output_of(command);
  CHECK(contains(table, "3 classes of ranks that were folded"));
  CHECK(contains(table,
                 "  1 rank: 6; computes at 0.5 of the speed; times differ from 10 us "
                 "(computation)"));
  // Unfolded: the same ranks have the same times.
  const Json unfolded = json_of(command + " --fold off")["fold"];
  CHECK(unfolded["members"] == classes);
  CHECK(contains(output_of(command + " --fold off"),
                 "3 classes of ranks with the same times, which nothing was folded by"));
}

TEST_CASE("classes of a trace without differences are one, those of other programs are named") {
  const TemporaryFile pairs(pairs_of_ranks(4));
  CHECK(json_of("lockstep replay --cluster star " + pairs.path() +
                " --classes")["fold"]["members"][0]["ranks"] == 8);
  const Json two = json_of(kPair + "--classes")["fold"]["members"];
  REQUIRE(two.size() == 2);
  CHECK(two[1]["difference"] == "other operations");
  const Json chakra = json_of(kChakra + "--classes");
  std::int64_t ranks = 0;
  for (const Json& each : chakra["fold"]["members"]) ranks += each["ranks"].get<std::int64_t>();
  CHECK(ranks == 2);
}

TEST_CASE("drawn ranks of a trace are named, and ranks that it lacks refused") {
  CHECK(contains(output_of(kPair + "--set-rank random:50%=0.5..0.9 --seed 3"),
                 "1 of 2 ranks drawn with seed 3: rank "));
  const Json config = json_of(kPair + "--set-rank 'all=normal(0.8,0.1)'")["config"];
  CHECK(config["drawn_ranks"] == Json::array({0, 1}));
  CHECK(config["ranks"].size() == 2);
  const CommandResult missing = run_command(
      "lockstep replay tests/data/goal/pair.goal --cluster star --ranks 8 --set-rank "
      "2=0.5");
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "--set-rank 2: the trace has ranks 0 to 1"));
}

}  // namespace lockstep
