#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "tests/tools/run_command.hpp"

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

Json collective_rows(const std::string& options) {
  return rows_of("lockstep collective all_reduce " + options);
}

std::int64_t picoseconds(const Json& seconds) {
  return std::llround(seconds.get<double>() * 1e12);
}

/// Ring on star.json at 64 MiB: 2(n-1) rounds, each of 2 us and a block of ceil(16 Mi / n) floats
/// at 50 GB/s, which is 20 ps per byte.
std::int64_t ring_time(std::int64_t n) {
  const std::int64_t block = 4 * ((16'777'216 + n - 1) / n);
  return 2 * (n - 1) * (2'000'000 + 20 * block);
}

std::string ring_on_star(int ranks, const std::string& network) {
  return "--cluster configs/clusters/star.json --ranks " + std::to_string(ranks) +
         " --algorithm ring -b 64M -e 64M --network " + network;
}

/// Bytes on the busiest of a ring's links, summed over rounds, in units of the message.
/// Recursive doubling at distance d: d whole messages cross the busiest link; 1 + 2 + ... = n-1.
double doubling_load(double n) {
  return n - 1;
}
/// Distance d with d/n of the message, twice: 2 * sum of d*d/n over the powers of two below n.
double far_load(double n) {
  return 2 * (n * n - 1) / (3 * n);
}
/// Distance d with 1/(2d) of the message: half a message in each of 2 lg n rounds.
double near_load(double n) {
  return std::log2(n);
}
/// Every link is on d of the paths to distance d, d = 1 ... n/2 clockwise, each 1/n of the message,
/// twice: 2/n * (n/2)(n/2 + 1)/2.
double direct_load(double n) {
  return (n / 2 + 1) / 2;
}
/// One block of 1/n in each of 2(n-1) rounds.
double ring_load(double n) {
  return 2 * (n - 1) / n;
}

}  // namespace

TEST_CASE("a ring on the star takes its closed form in every network model") {
  for (const std::string network : {"fluid", "alpha-beta", "queue"})
    for (const int ranks : {8, 64, 256, 1024}) {
      CAPTURE(network);
      CAPTURE(ranks);
      const Json rows = collective_rows(ring_on_star(ranks, network));
      CHECK(picoseconds(rows[0]["time_s"]) == ring_time(ranks));
    }
}

TEST_CASE("the ring's closed form gives the figures that were published for it") {
  CHECK(ring_time(8) == 2'376'810'240);
  CHECK(ring_time(64) == 2'894'411'520);
  CHECK(ring_time(256) == 3'693'868'800);
  CHECK(ring_time(1024) == 6'773'733'120);
  CHECK(ring_time(4096) == 19'063'699'200);
}

TEST_CASE("a ring of 4096 ranks takes its closed form" * doctest::skip(kSanitized)) {
  const Json rows = collective_rows(ring_on_star(4096, "alpha-beta"));
  CHECK(picoseconds(rows[0]["time_s"]) == ring_time(4096));
}

TEST_CASE("the busiest link of a ring of links carries what can be counted by hand") {
  for (const int n : {8, 16, 64}) {
    CAPTURE(n);
    const Json rows = collective_rows(
        "--cluster configs/clusters/ring.json --load -b 64M -e 64M --ranks " + std::to_string(n) +
        " --algorithm ring,direct,recursive_doubling,halving_doubling,halving_doubling_near");
    const std::vector<double> expected = {ring_load(n), direct_load(n), doubling_load(n),
                                          far_load(n), near_load(n)};
    REQUIRE(rows.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(rows[i]["algorithm"].get<std::string>());
      CHECK(rows[i]["busiest_link_load"].get<double>() == doctest::Approx(expected[i]));
    }
  }
}

TEST_CASE("no algorithm makes a wrong element at odd numbers of ranks") {
  for (const std::string ranks : {"3", "5", "7", kSanitized ? "9" : "33"})
    for (const std::string size : {"0", "4", "1000003"}) {
      const Json rows = collective_rows("--cluster star --check --ranks " + ranks + " -b " + size +
                                        " -e " + size + " --algorithm all");
      for (const Json& row : rows) {
        CAPTURE(row.dump());
        CHECK(row["wrong"] == 0);
      }
    }
}

TEST_CASE("without --check nothing is claimed of wrong elements") {
  CHECK(collective_rows("--cluster star -b 8 -e 8")[0]["wrong"].is_null());
  CHECK(
      contains(output_of("lockstep collective all_reduce --cluster star -b 8 -e 8 --wide"), "N/A"));
}

TEST_CASE("sizes are stepped as nccl-tests steps them") {
  const auto sizes = [](const std::string& options) {
    std::vector<std::int64_t> out;
    for (const Json& row : collective_rows("--cluster star " + options))
      out.push_back(row["size_bytes"]);
    return out;
  };
  constexpr std::int64_t kMiB = 1 << 20;
  CHECK(sizes("") == std::vector<std::int64_t>{32 * kMiB});
  CHECK(sizes("-b 8 -e 64 -f 2") == std::vector<std::int64_t>{8, 16, 32, 64});
  CHECK(sizes("-b 8 -e 100 -f 4") == std::vector<std::int64_t>{8, 32});
  CHECK(sizes("-b 0 -e 2M") == std::vector<std::int64_t>{0, kMiB, 2 * kMiB});
  CHECK(sizes("-b 1K -e 3K -i 1K") == std::vector<std::int64_t>{1024, 2048, 3072});
  CHECK(sizes("-b 0 -e 0 -f 2") == std::vector<std::int64_t>{0});
}

TEST_CASE("a factor beyond the largest size ends the list") {
  const std::string options = "--cluster star -b 1023T -e 1024T -f 1048576";
  CHECK(collective_rows(options).size() == 1);
}

TEST_CASE("a cluster is found by name as by file") {
  const std::string rest = " -b 8 -e 8 --format csv";
  CHECK(output_of("lockstep collective all_reduce --cluster star" + rest) ==
        output_of("lockstep collective all_reduce --cluster configs/clusters/star.json" + rest));
}

TEST_CASE("CPU sockets serve as parameter servers where nodes have them") {
  const Json rows = collective_rows(
      "--cluster dgx-h100 --check -b 1M -e 1M --algorithm "
      "parameter_server,parameter_server:shards=2");
  CHECK(rows[0]["wrong"] == 0);
  // Two sockets take in and give out twice as fast as one.
  CHECK(rows[1]["time_s"].get<double>() < rows[0]["time_s"].get<double>());
}

TEST_CASE("skew moves starts, the same way for the same seed") {
  const std::string base = "--cluster star -b 8 -e 8 --skew \"10 us\" --seed ";
  CHECK(collective_rows(base + "1") == collective_rows(base + "1"));
  CHECK(collective_rows(base + "1") != collective_rows(base + "2"));
}

TEST_CASE("a transfer that would end beyond the clock is refused with and without folding") {
  for (const std::string fold : {"auto", "off"}) {
    const CommandResult result = run_command(
        "lockstep collective all_reduce --algorithm double_binary_tree:chunks=4 --ranks 9 --size "
        "4T "
        "--set-link gpu3 \"bandwidth=1 MB/s\" --fold " +
        fold);
    CHECK(result.status == 1);
    CHECK(contains(result.err, "too large to simulate (times up to 106 days)"));
  }
}

TEST_CASE("what no clock of 106 days can hold is a refusal, not a bug") {
  // 8190 messages of 1 PiB at 50 GB/s are 5.8 years.
  const CommandResult result = run_command(
      "lockstep collective all_reduce --cluster star -b 1024T -e 1024T --algorithm naive --ranks "
      "4096");
  CHECK(result.status == 1);
  CHECK(result.out.empty());
  CHECK(contains(result.err, "too large to simulate (times up to 106 days)"));
}

TEST_CASE("the bound knows the narrowest cut between the halves of the ranks") {
  // Summit's halves are its sockets, joined by 32 GB/s each way: all of the message has to cross.
  const Json rows = collective_rows("--cluster summit -b 64M -e 64M");
  CHECK(rows[0]["bound_by"] == "bisection");
  CHECK(rows[0]["bound_s"].get<double>() == doctest::Approx(67108864 / 32e9));
}

TEST_CASE("in alpha-beta only ports count as busy, and none is busier than all the time") {
  const Json rows = collective_rows("--cluster dgx1 --network alpha-beta --algorithm direct");
  CHECK(rows[0]["busiest_link_busy_fraction"].get<double>() <= 1);
}

// As told: in their order, and no other.
TEST_CASE("sizes may be named one by one") {
  const Json rows = collective_rows("--ranks 4 --algorithms ring --sizes 1M,8,64K");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["size_bytes"] == 1 << 20);
  CHECK(rows[1]["size_bytes"] == 8);
  CHECK(rows[2]["size_bytes"] == 1 << 16);
}

}  // namespace lockstep
