#include <doctest/doctest.h>

#include <bit>
#include <map>

#include "tests/tools/run_command.hpp"

/// `lockstep explain` and `lockstep complexity` as teachers use them. star.json: 1 us per link, so
/// 2 us a hop, and 20 ps a byte.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

TEST_CASE("a ring of three is explained round by round") {
  const Json out = json_of("lockstep explain all_reduce --algorithm ring --ranks 3 --size 48");
  CHECK(out["rounds"] == 4);  // 2(n-1)
  const Json& rounds = out["chunks"]["rounds"];
  REQUIRE(rounds.size() == 4);
  // Round 1: everybody sends the chunk of its own number, which is added at the next.
  CHECK(rounds[0]["lines"] == Json{"rank 0 -> rank 1: chunk 0 (16 B), reduced",
                                   "rank 1 -> rank 2: chunk 1 (16 B), reduced",
                                   "rank 2 -> rank 0: chunk 2 (16 B), reduced"});
  CHECK(rounds[0]["after"] == Json{{"0", "0", "0+2"}, {"0+1", "1", "1"}, {"2", "1+2", "2"}});
  const Json all(3, Json(3, "all"));
  CHECK(rounds[3]["after"] == all);
  // 4 rounds of 2 us and 16 bytes at 20 ps.
  CHECK(out["cost"]["formula_s"].get<double>() == doctest::Approx(4 * (2e-6 + 16 * 20e-12)));
  CHECK(out["cost"]["simulated_s"] == out["cost"]["formula_s"]);
  CHECK(out["cost"]["sent_per_rank_bytes"] == 4 * 16);
}

TEST_CASE("every collective can be explained, by people and by programs") {
  for (const std::string what :
       {"broadcast --algorithm binomial --root 2", "reduce --algorithm chain",
        "scatter --algorithm flat", "gather --algorithm binomial", "all_gather --algorithm bruck",
        "reduce_scatter --algorithm ring", "all_to_all --algorithm pairwise",
        "send_recv --algorithm shift", "barrier --algorithm dissemination"}) {
    CAPTURE(what);
    const std::string text = output_of("lockstep explain " + what + " --ranks 5 --size 1000");
    CHECK(contains(text, "round 1 of"));
    CHECK(contains(text, "source: "));
  }
}

TEST_CASE("a schedule of a file is explained as the algorithm it was exported from") {
  const TemporaryFile file(
      output_of("lockstep schedule export all_reduce --algorithm ring --ranks 3"));
  const Json own = json_of("lockstep explain all_reduce --schedule " + file.path() + " --size 48");
  const Json ring = json_of("lockstep explain all_reduce --algorithm ring --ranks 3 --size 48");
  CHECK(own["rounds"] == ring["rounds"]);
  CHECK(own["cost"]["simulated_s"] == ring["cost"]["simulated_s"]);
  CHECK(own["cost"]["sent_per_rank_bytes"] == ring["cost"]["sent_per_rank_bytes"]);
  CHECK(own["cost"]["formula_s"].is_null());  // a file has no closed form
  CHECK(own["chunks"]["rounds"].back()["after"] == ring["chunks"]["rounds"].back()["after"]);
}

TEST_CASE("a schedule of a file has its ranks, collective and root") {
  const TemporaryFile file(
      output_of("lockstep schedule export all_reduce --algorithm ring --ranks 3"));
  const std::string explain = "lockstep explain all_reduce --schedule " + file.path();
  for (const auto& [more, said] : std::map<std::string, std::string>{
           {" --ranks 4", "is for 3 ranks, the cluster has 4"},
           {" --algorithm ring", "--algorithm and --schedule cannot be combined"},
           {" --root 1", "the root of a schedule from a file stands in the file"}}) {
    const CommandResult refused = run_command(explain + more);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, said));
  }
  const CommandResult other = run_command("lockstep explain broadcast --schedule " + file.path());
  CHECK(other.status == 2);
  CHECK(contains(other.err, "it does all_reduce, not broadcast"));
}

TEST_CASE("what cannot be explained is said") {
  const CommandResult mistyped = run_command("lockstep explain all_to_all --algorithm bruk");
  CHECK(mistyped.status == 2);
  CHECK(contains(mistyped.err, "did you mean \"bruck\"?"));
  CHECK(run_command("lockstep explain all_reduce --ranks 0").status == 2);
}

TEST_CASE("the textbook's table comes out of the measurement") {
  // Rounds and busiest node by the formulas: naive 2(N-1) and (N-1)S each way at the root; ring
  // 2(N-1) and 2(N-1)/N S each way; one-shot 1 and N(N-1)S in total; halving-doubling 2 lg N; the
  // parameter server 2 and N S each way at the server; direct 2 and as the ring.
  const Json out = json_of(
      "lockstep complexity all_reduce --algorithms "
      "naive,ring,one_shot,halving_doubling,parameter_server,direct --ranks 2..64");
  std::map<std::string, Json> row;
  for (const Json& each : out["rows"]) row[each["algorithm"].get<std::string>()] = each;
  CHECK(row["naive"]["rounds_growth"] == "O(N)");
  CHECK(row["naive"]["busiest_bytes_growth"] == "O(N)");
  CHECK(row["ring"]["rounds_growth"] == "O(N)");
  CHECK(row["ring"]["busiest_bytes_growth"] == "O(1)");
  CHECK(row["one_shot"]["rounds_growth"] == "O(1)");
  CHECK(row["one_shot"]["total_bytes_growth"] == "O(N^2)");
  CHECK(row["halving_doubling"]["rounds_growth"] == "O(log N)");
  CHECK(row["halving_doubling"]["small_time_growth"] == "O(log N)");
  CHECK(row["parameter_server"]["rounds_growth"] == "O(1)");
  CHECK(row["parameter_server"]["busiest_bytes_growth"] == "O(N)");
  CHECK(row["direct"]["rounds_growth"] == "O(1)");
  CHECK(row["direct"]["busiest_bytes_growth"] == "O(1)");
  for (const Json& point : out["points"]) {
    if (point["algorithm"] != "ring") continue;
    const auto n = point["ranks"].get<std::int64_t>();
    CHECK(point["rounds"] == 2 * (n - 1));
    CHECK(point["busiest_bytes"] == 4 * (n - 1) * ((std::int64_t{64} << 20U) / n));
  }
}

TEST_CASE("the asymptotic class of a time is not the exponent fitted to a range") {
  // 2(n-1)*alpha + 2(n-1)/n*S*beta: linear, though 64 MiB hide it up to 64 ranks. One-shot's n-1
  // sends of S leave one port each; halving-doubling has 2 lg n rounds and the bytes of the ring.
  const Json out = json_of(
      "lockstep complexity all_reduce --algorithms ring,halving_doubling,one_shot,direct,sharp "
      "--ranks 2..64");
  std::map<std::string, Json> row;
  for (const Json& each : out["rows"]) row[each["algorithm"].get<std::string>()] = each;
  CHECK(row["ring"]["asymptotic_time"] == "O(N)");
  CHECK(row["ring"]["large_time_exponent"].get<double>() < 0.2);
  CHECK(row["halving_doubling"]["asymptotic_time"] == "O(log N)");
  CHECK(row["one_shot"]["asymptotic_time"] == "O(N)");
  CHECK(row["direct"]["asymptotic_time"] == "O(1)");
  // The switch moves N S bytes, over a port for each rank: S each way through every port.
  CHECK(row["sharp"]["asymptotic_time"] == "O(1)");
}

TEST_CASE("a growth that is absent says why") {
  const CommandResult run =
      run_command("lockstep complexity all_reduce --algorithms ring --ranks 2..16");
  CHECK(run.status == 0);
  CHECK(run.out.find("too few points: a fit needs 3 counts of ranks N >= 5.66") !=
        std::string::npos);
  const Json row =
      json_of("lockstep complexity all_reduce --algorithms ring --ranks 2..16")["rows"][0];
  CHECK(row["asymptotic_time"].is_null());
}

TEST_CASE("a pipeline's rounds are the messages that follow one another, also in several lanes") {
  // A short message is one chunk: ceil(lg n) rounds up and as many down.
  const Json out = json_of(
      "lockstep complexity all_reduce --algorithms binary_tree,double_binary_tree --ranks 2..64");
  for (const Json& row : out["rows"]) CHECK(row["rounds_growth"] == "O(log N)");
  for (const Json& point : out["points"]) {
    const auto n = point["ranks"].get<unsigned>();
    CHECK(point["rounds"] == 2 * (std::bit_width(n) - 1));
  }
  const Json rows = rows_of(
      "lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 9 "
      "--algorithm binary_tree:chunks=5 -b 1M -e 1M");
  CHECK(rows[0]["rounds"] == 5 - 1 + 2 * 4);
}

TEST_CASE("a formula that is only near says so, with its numbers put in") {
  const Json cost = json_of(
      "lockstep explain all_reduce --algorithm binary_tree:chunks=4 --ranks 8 --size 4M")["cost"];
  CHECK(cost["formula_is_estimate"] == true);
  // 4 - 1 + 2 * 3 rounds of 2 us and 3 MiB at 20 ps a byte.
  CHECK(cost["formula_s"].get<double>() == doctest::Approx(9 * (2e-6 + 3 * 1048576 * 20e-12)));
  CHECK(json_of("lockstep explain all_reduce --algorithm ring --ranks 8")["cost"]
                                                                         ["formula_is_estimate"] ==
        false);
}

TEST_CASE("rings side by side have numbers put into their formula") {
  for (const std::string collective : {"all_gather", "reduce_scatter"}) {
    const Json cost = json_of("lockstep explain " + collective +
                              " --algorithm ring:channels=4 --ranks 8 --size 64M")["cost"];
    CHECK(cost["formula_is_estimate"] == true);
    // 7 rounds of 2 us; 7 of 8 parts of 64 MiB at 20 ps a byte, whoever of the four sends them.
    CHECK(cost["formula_s"].get<double>() == doctest::Approx(7 * (2e-6 + 8 * 1048576 * 20e-12)));
  }
}

TEST_CASE("what switches send is not what a rank sends") {
  // NVLS: the message up, and one eighth of it; its switch sends as much to each of eight.
  const Json nvls = rows_of(
      "lockstep collective all_reduce --cluster configs/clusters/dgx-h100.json --nodes 1 "
      "--algorithm nvls:chunks=4 -b 1M -e 1M");
  CHECK(nvls[0]["sent_per_rank_bytes"] == 1048576 + 1048576 / 8);
  CHECK(nvls[0]["rounds"] == 4 + 3);
  const Json sharp = json_of(
      "lockstep explain all_reduce --algorithm sharp:chunks=1 --ranks 4 "
      "--size 64");
  CHECK(sharp["cost"]["sent_per_rank_bytes"] == 64);
}

}  // namespace lockstep
