#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "tests/tools/run_command.hpp"

/// Algorithms that never cut the message send it as long as it is, however many ranks there are;
/// and whoever times a collective times the same.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

std::int64_t picoseconds(const Json& seconds) {
  return std::llround(seconds.get<double>() * 1e12);
}

Json row_of(const std::string& algorithm, int ranks, const std::string& size) {
  return rows_of("lockstep collective all_reduce --cluster star --ranks " + std::to_string(ranks) +
                 " --algorithm " + algorithm + " --size " + size)[0];
}

}  // namespace

TEST_CASE("eight bytes stay eight bytes among a thousand ranks") {
  // star: alpha 2 us, 20 ps a byte; a message of 8 B takes 160 ps at a port.
  constexpr std::int64_t kAlpha = 2'000'000;
  constexpr std::int64_t kMessage = 160;
  // Every rank sends 1,023 of them at once: alpha + (n-1) 8 B beta = 2.16 us.
  CHECK(picoseconds(row_of("one_shot", 1024, "8")["time_s"]) == kAlpha + 1023 * kMessage);
  // All push, all pull through the server's port: 2 alpha + 2n 8 B beta = 4.33 us.
  CHECK(picoseconds(row_of("parameter_server", 1024, "8")["time_s"]) ==
        2 * kAlpha + 2 * 1024 * kMessage);
  // One after the other, both ways: 2(n-1)(alpha + 8 B beta) = 4092.3 us.
  CHECK(picoseconds(row_of("naive", 1024, "8")["time_s"]) == 2 * 1023 * (kAlpha + kMessage));
  // lg n (alpha + 8 B beta) = 32.00 us, and 16 messages of 8 B by every rank.
  for (const std::string algorithm : {"recursive_doubling", "swing_latency"}) {
    const Json row = row_of(algorithm, 65'536, "8");
    CHECK(picoseconds(row["time_s"]) == 16 * (kAlpha + kMessage));
    CHECK(row["sent_per_rank_bytes"] == 16 * 8);
  }
}

TEST_CASE("131,072 ranks double in seventeen rounds of eight bytes") {
  if (kSanitized) return;
  CHECK(picoseconds(row_of("recursive_doubling", 131'072, "8")["time_s"]) ==
        17 * (2'000'000 + 160));
}

TEST_CASE("the extra-rank method sends whole messages as well") {
  // N' = 4: fold, two exchanges, unfold, each of 12 bytes; partners send three.
  const Json row = row_of("recursive_doubling", 6, "12");
  CHECK(picoseconds(row["time_s"]) == 4 * (2'000'000 + 12 * 20));
  CHECK(row["sent_per_rank_bytes"] == 3 * 12);
}

TEST_CASE("a server's shard is a shard of the message, not of one block a rank") {
  // Three servers and 64 workers of 30 floats: 10 floats each, from all and to all.
  const Json row = row_of("parameter_server:shards=3", 64, "120");
  CHECK(picoseconds(row["time_s"]) == 2 * (2'000'000 + 64 * 40 * 20));
  CHECK(row["sent_per_rank_bytes"] == 64 * 40);
}

TEST_CASE("what is fastest follows") {
  // 32.00 us against 2 * 16 rounds of a tree.
  const Json rows = rows_of(
      "lockstep collective all_reduce --algorithm recursive_doubling,binomial_tree --cluster star "
      "--ranks 65536 --size 8");
  CHECK(rows[0]["best"] == true);
  CHECK(rows[1]["best"] == false);
  // 2.16 us: one round instead of ten.
  const Json chosen = rows_of(
      "lockstep collective all_reduce --algorithm auto:by=replay --cluster star --ranks 256 "
      "--size 8");
  CHECK(chosen[0]["chosen"] == "one_shot");
}

TEST_CASE("inside a hierarchy the doubled share is as long as it is") {
  // 8 nodes of 8: rings of 7 rounds each way with 8 B, and 3 rounds of 8 B across.
  const Json row = row_of("hierarchical:group=8,inner=recursive_doubling", 64, "64");
  CHECK(picoseconds(row["time_s"]) == (7 + 3 + 7) * (2'000'000 + 8 * 20));
}

TEST_CASE("every command times a collective alike") {
  // The same message, cut in the same way, also where it has fewer bytes than there are ranks.
  for (const std::string collective :
       {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "scatter", "gather",
        "all_to_all", "send_recv", "barrier"}) {
    const std::string sizes = " --size-small 1000 --size-large 1M";
    std::map<std::pair<std::string, int>, std::array<Json, 2>> measured;
    for (const Json& point :
         rows_of("lockstep complexity " + collective + sizes + " --ranks 1..64 --measured"))
      measured[{point["algorithm"].get<std::string>(), point["ranks"].get<int>()}] = {
          point["small_time_s"], point["large_time_s"]};
    for (const int ranks : {2, 16, 64}) {
      const Json rows = rows_of("lockstep collective " + collective +
                                " --algorithm all --cluster star --size 1000,1M --ranks " +
                                std::to_string(ranks));
      for (const Json& row : rows) {
        const std::size_t which = row["size_bytes"] == 1000 ? 0 : 1;
        const auto found = measured.find({row["algorithm"].get<std::string>(), ranks});
        CAPTURE(row.dump());
        REQUIRE(found != measured.end());
        CHECK(found->second[which] == row["time_s"]);
      }
    }
  }
}

TEST_CASE("a small message of any length has its own time") {
  // 2 us + 1023 * 1000 B at 20 ps = 22.46 us.
  const Json point = rows_of(
      "lockstep complexity all_reduce --algorithms one_shot --ranks 1024..1024 --size-small 1000 "
      "--size-large 1M --measured")[0];
  CHECK(picoseconds(point["small_time_s"]) == 2'000'000 + 1023 * 1000 * 20);
}

TEST_CASE("growth is reported of the term that grows") {
  const Json rows = rows_of(
      "lockstep complexity all_reduce --algorithms ring,one_shot,direct,recursive_doubling "
      "--ranks 2..1024 --size-large 64M");
  // 2(n-1) alpha + 2(n-1)/n S beta: 2.7 ms of bytes and 4 us more a rank.
  CHECK(rows[0]["large_time_growth"] == "O(N)");
  CHECK(rows[0]["busiest_bytes_growth"] == "O(1)");  // 4(n-1)/n S
  CHECK(rows[1]["small_time_growth"] == "O(N)");     // alpha + (n-1) 8 B beta
  CHECK(rows[1]["total_bytes_growth"] == "O(N^2)");  // n(n-1) S
  CHECK(rows[2]["large_time_growth"] == "O(1)");     // 2 alpha + 2(n-1)/n S beta
  CHECK(rows[3]["large_time_growth"] == "O(log N)");
}

}  // namespace lockstep
