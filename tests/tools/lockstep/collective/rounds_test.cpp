#include <doctest/doctest.h>

#include <string>

#include "tests/tools/run_command.hpp"

/// What the column `rounds` says: how many messages follow one another, whatever lanes and steps a
/// schedule spreads them over.
namespace lockstep {

TEST_CASE("the rounds that are reported are those that explain shows one by one") {
  for (const std::string cluster : {"star --ranks 8", "star --ranks 6", "dgx-h100 --nodes 2"}) {
    for (const auto& row : rows_of("lockstep list algorithms")) {
      const auto collective = row["collective"].get<std::string>();
      const auto name = row["name"].get<std::string>();
      const std::string tail = " " + collective + " --algorithm " + name + " --cluster " + cluster;
      const CommandResult shown =
          run_command("lockstep explain" + tail + " --size 1K --format json");
      if (shown.status != 0) continue;  // the cluster cannot have it
      CAPTURE(tail);
      const auto told = rows_of("lockstep collective" + tail + " -b 1K -e 1K");
      CHECK(told[0]["rounds"] == nlohmann::ordered_json::parse(shown.out)["rounds"]);
    }
  }
}

TEST_CASE("a binary tree's rounds grow with the logarithm of the ranks") {
  // Up and down ceil(lg n) levels.
  const auto rows = rows_of(
      "lockstep complexity all_reduce --algorithms binary_tree:chunks=1 --ranks 4..64 --measured");
  for (const auto& row : rows) {
    const auto ranks = row["ranks"].get<int>();
    int levels = 0;
    while ((1 << levels) < ranks) ++levels;
    CHECK(row["rounds"] == 2 * levels);
  }
}

TEST_CASE("rounds and bytes of a schedule too large to be walked are counted by classes") {
  if (kSanitized) return;
  // Rings of 8 in 1,024 nodes and of 1,024 across, two chunks behind one another: the slowest
  // stage, of 2 * 1023 rounds, comes twice, and a chunk has 7 rounds before it and 7 after it.
  // Every rank sends 2 * 8191/8192 of 16,777,216 floats.
  const auto row = rows_of(
      "lockstep collective all_reduce --algorithm hierarchical:chunks=2,group=8 --cluster star "
      "--ranks 8192 --size 64M")[0];
  CHECK(row["rounds"] == 2 * 2 * 1023 + 2 * 7);
  CHECK(row["sent_per_rank_bytes"] == 2 * 8191 * (67'108'864 / 8192));
}

TEST_CASE("an imported ring counts rounds as ours does") {
  // Four ranks pass on a block three times for the sums and three times for the results; each tb
  // sends in one step and receives in the next.
  const CommandResult exported =
      run_command("lockstep schedule export all_reduce --algorithm ring --ranks 4");
  const TemporaryFile file(exported.out);
  CHECK(rows_of("lockstep collective --schedule " + file.path())[0]["rounds"] == 6);
}

}  // namespace lockstep
