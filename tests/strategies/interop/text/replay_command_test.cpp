#include <doctest/doctest.h>

#include <filesystem>

#include "tests/strategies/interop/chakra/chakra_encoder.hpp"
#include "tests/strategies/interop/text/corpus.hpp"
#include "tests/strategies/interop/text/temporary_folder.hpp"
#include "tests/tools/run_command.hpp"

/// `lockstep replay` as a user meets it.
namespace lockstep {

namespace {

using test::TemporaryFolder;

// star.json: a hop of 2 us, 50 GB/s.
constexpr double kHop = 2e-6;
constexpr double kPerByte = 1 / 50e9;

const std::string kGoal = "lockstep replay tests/data/goal/pair.goal --cluster star";
const std::string kChakra = "lockstep replay tests/data/chakra/pair --cluster star";

double time_of(const std::string& command) {
  return rows_of(command)[0]["time_s"].get<double>();
}

doctest::Approx near(double seconds) {
  return doctest::Approx(seconds).epsilon(1e-9);
}

/// Refused with exit code `status`, nothing on stdout and this in the message.
void check_refused(const std::string& command, int status, const std::string& message) {
  CAPTURE(command);
  const CommandResult result = run_command(command);
  CHECK(result.status == status);
  CHECK(result.out.empty());
  CAPTURE(result.err);
  CHECK(contains(result.err, message));
}

void check_text_refused(const std::string& text, int status, const std::string& message) {
  const TemporaryFile file(text);
  check_refused("lockstep replay --cluster star " + file.path(), status, message);
}

}  // namespace

TEST_CASE("a GOAL file is replayed, rank by rank") {
  const auto rows = rows_of(kGoal);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["rank"].is_null());
  CHECK(rows[1]["rank"] == 0);
  // Rank 0 computes for 10 us. Then 1 MiB and 4 KiB leave at once and share its port, so the longer
  // is through when all of both are. Rank 1 computes for 5 us and sends 4 KiB back.
  const double end = 10e-6 + (1048576 + 4096) * kPerByte + kHop + 5e-6 + 4096 * kPerByte + kHop;
  CHECK(rows[0]["time_s"].get<double>() == near(end));
  CHECK(rows[1]["time_s"] == rows[0]["time_s"]);
  CHECK(rows[1]["sent_bytes"] == 1048576 + 4096);
  CHECK(rows[2]["sent_bytes"] == 4096);
  CHECK(rows[2]["compute_s"].get<double>() == near(5e-6));
  CHECK(rows[0]["sent_bytes"] == rows[0]["received_bytes"]);
  CHECK(rows[0]["operations"] == 8);
  CHECK(rows[0]["busiest_link"] == "gpu0 -> leaf0");
}

TEST_CASE("equivalent ranks are replayed once, with the same result") {
  const TemporaryFile ring(
      run_command("lockstep schedule export all_reduce --ranks 8 --format goal "
                  "--size 1M")
          .out);
  const std::string command = "lockstep replay --cluster star " + ring.path();
  CHECK(rows_of(command) == rows_of(command + " --fold off"));
  // 14 rounds of an eighth of 1 MiB.
  CHECK(time_of(command) == near(14 * (kHop + 131072 * kPerByte)));
  check_refused(command + " --fold on", 2, "--fold: expected auto or off, got \"on\"");
  // In a ring all ranks do the same.
  CHECK(contains(output_of(command), "# all 8 ranks, folded into 1 class\n"));
  const auto fold = json_of(command)["fold"];
  CHECK(fold["folded"] == true);
  CHECK(fold["classes"] == 1);
  CHECK_FALSE(fold.contains("why_not"));
}

TEST_CASE("speeds of ranks that compute nothing have no effect and are refused") {
  const TemporaryFile file(
      "num_ranks 2\nrank 0 {\nl1: send 1000b to 1\nl2: calc 50\n}\nrank 1 {\nl1: recv "
      "1000b from 0\n}\n");
  const std::string command = "lockstep replay --cluster star " + file.path();
  CHECK(run_command(command + " --set-rank 0=0.5").status == 0);
  CHECK(run_command(command + " --set-rank all=0.5").status == 0);
  check_refused(command + " --set-rank 1=0.5", 2,
                "--set-rank 1: a speed has no effect: none of these ranks computes in ");
  check_refused(command + " --compute zero --set-rank 0=0.5", 2,
                "--set-rank 0: a speed has no effect: computations take no time (--compute zero)");
  const TemporaryFile silent(
      "num_ranks 2\nrank 0 {\nl1: send 1000b to 1\n}\nrank 1 {\nl1: recv 1000b from 0\n}\n");
  check_refused("lockstep replay --cluster star " + silent.path() + " --compute 2", 2,
                "--compute: has no effect: no rank of ");
}

TEST_CASE("a trace that is not folded says why") {
  // The two ranks of the trace differ, so that nothing is saved.
  CHECK(contains(output_of(kGoal),
                 "# nothing folded: too many ranks differ: 2 classes of 2 ranks\n"));
  const auto fold = json_of(kGoal)["fold"];
  CHECK(fold["folded"] == false);
  CHECK(fold["classes"] == 0);
  CHECK(fold["why_not"] == "too many ranks differ: 2 classes of 2 ranks");
  CHECK(contains(output_of(kGoal + " --fold off"), "# nothing folded: not asked for\n"));
  CHECK(contains(output_of(kGoal + " --network queue"),
                 "# nothing folded: the queue model distinguishes all messages\n"));
}

TEST_CASE("a set of Chakra traces is replayed by its prefix, a file or its folder") {
  // Rank 0 computes for 10 us and sends 1 MiB; rank 1 computes for 5 us and stores for 1 us; then
  // they reduce 1 MiB in a ring of two: two rounds of half of it.
  const double message = kHop + 1048576 * kPerByte;
  const double ring = 2 * (kHop + 524288 * kPerByte);
  CHECK(time_of(kChakra) == near(10e-6 + message + 6e-6 + ring));
  CHECK(time_of("lockstep replay tests/data/chakra/pair.1.et --cluster star") == time_of(kChakra));
  CHECK(time_of(kChakra + " --compute zero") == near(message + ring));
  CHECK(time_of(kChakra + " --compute 0.5") == near(8e-6 + message + ring));
  CHECK(time_of(kChakra + " --compute 1") == time_of(kChakra + " --compute as-is"));
}

TEST_CASE("what of a trace is left out is said in every form of output") {
  using namespace test;
  const TemporaryFolder folder;
  folder.write("t.0.et", trace_bytes({collective_node(0, 0, 1024), send_node(1, 1, 8, {0})}));
  const std::string replay = "lockstep replay --cluster star --nodes 8 " + folder.path();
  const std::string note =
      "communication was dropped: 1 collective (1024 bytes) and 1 message (8 bytes), since there "
      "is "
      "the file of one rank alone";
  CHECK(contains(output_of(replay), "# " + note));
  CHECK(contains(json_of(replay)["notes"][0].get<std::string>(), note));
  CHECK(contains(run_command(replay + " --format csv").err, "lockstep: note: " + note));
  CHECK(json_of(kChakra)["notes"].empty());
  CHECK(json_of(kGoal)["notes"].empty());
}

/// 1,600 ranks that each send to all others: 1,600 * 1,599 messages at once.
TEST_CASE("a trace that needs too much memory is refused before it takes it") {
  using namespace test;
  const TemporaryFolder folder;
  for (int rank = 0; rank < 1600; ++rank)
    folder.write("t." + std::to_string(rank) + ".et", trace_bytes({collective_node(0, 0, 1024)}));
  const std::string replay = "lockstep replay --cluster star --algorithm one_shot " + folder.path();
  check_refused(replay + " --max-memory 1G", 2,
                folder.path() +
                    " on 1600 ranks: a replay needs some 1.6 GiB of memory (about 2.56e+06 pairs "
                    "of ranks send to each other, 2.56e+06 messages at once), the limit is 1 GiB; "
                    "use fewer ranks, an algorithm that sends less at once, or raise --max-memory "
                    "of `lockstep replay`");
  check_refused(kGoal + " --max-memory much", 2, "--max-memory: expected a size");
  CHECK(time_of(kGoal + " --max-memory 1") == time_of(kGoal));
}

TEST_CASE("the bytes of a collective are those of its algorithm") {
  const auto rows = rows_of(kChakra);
  CHECK(rows[1]["sent_bytes"] == 1048576 + 2 * 524288);
  CHECK(rows[1]["received_bytes"] == 2 * 524288);
  CHECK(rows[2]["sent_bytes"] == 2 * 524288);
}

TEST_CASE("collectives get the algorithm that is asked for, or their usual one") {
  const auto algorithms = [](const std::string& options) {
    return json_of(kChakra + options)["config"]["algorithms"];
  };
  CHECK(algorithms("")["all_reduce"] == "ring");
  CHECK(algorithms(" --algorithm one_shot")["all_reduce"] == "one_shot");
  CHECK(algorithms(" -a bruck,halving_doubling")["all_reduce"] == "halving_doubling");
  CHECK(algorithms(" --algorithm bruck")["all_reduce"] == "ring");  // which bruck is none of
  check_refused(kChakra + " --algorithm rng", 2,
                "--algorithm: no algorithm named \"rng\"; did you mean \"ring\"?");
  check_refused(kChakra + " --algorithm naive,one_shot", 2,
                "--algorithm: \"naive,one_shot\" names two algorithms of all_reduce");
  check_refused(kChakra + " --algorithm ring:chanels=2", 2, "chanels");
  check_refused(kChakra + " --algorithm parameter_server", 2,
                "--algorithm parameter_server: needs more than the ranks");
}

TEST_CASE("both forms of a ring by others take the same time and what they say") {
  const auto folder = test::corpus("chakra/custom_ring_allreduce_8npus_1MB");
  if (!folder) return;
  const std::string path = std::filesystem::canonical(*folder).string();
  const std::string replay = "lockstep replay --cluster star " + path;
  // 14 rounds in which every rank sends 128 KiB to the next; 7 of them end with 7 us of computing.
  const double round = kHop + 131072 * kPerByte;
  CHECK(time_of(replay) == near(14 * round + 7 * 7e-6));
  CHECK(time_of(replay + " --compute 2") == near(14 * round + 7 * 14e-6));
  CHECK(time_of(replay + " --compute zero") == near(14 * round));
  const std::string schedule =
      "lockstep collective --cluster star -b 1M -e 1M --schedule " + path + "/custom_allreduce.xml";
  CHECK(time_of(schedule) == time_of(replay + " --compute zero"));
}

TEST_CASE("traces by others run on real clusters") {
  const auto single = test::corpus("chakra/all_reduce_4npus_1MB");
  const auto tree = test::corpus("goal/binary_tree_32.goal");
  if (!single || !tree) return;
  const std::string chakra = std::filesystem::canonical(*single).string();
  // A ring of four: six rounds of a quarter.
  CHECK(time_of("lockstep replay --cluster star " + chakra) ==
        near(6 * (kHop + 262144 * kPerByte)));
  const auto rows =
      rows_of("lockstep replay --cluster dgx-h100 " + std::filesystem::canonical(*tree).string());
  CHECK(rows.size() == 1 + 32);
  CHECK(rows[0]["sent_bytes"] == 31);  // a byte along every edge of a tree of 32
}

TEST_CASE("the cluster is as large as the trace unless somebody says otherwise") {
  CHECK(json_of(kGoal)["config"]["cluster"]["ranks"] == 2);
  CHECK(json_of(kGoal + " --ranks 5")["config"]["cluster"]["ranks"] == 5);
  CHECK(rows_of(kGoal + " --ranks 5").size() == 3);
  CHECK(
      json_of("lockstep replay tests/data/goal/pair.goal --cluster custom-graph")["rows"].size() ==
      3);
  check_refused(
      kGoal + " --ranks 1", 2,
      "tests/data/goal/pair.goal has 2 ranks, the cluster 1; nodes or ranks make it larger "
      "if its size is free");
}

TEST_CASE("every form of output is there") {
  for (const std::string format : {"table", "csv", "md", "json"}) {
    const std::string text = output_of(kGoal + " --format " + format);
    CHECK(text == output_of(kGoal + " --format " + format));
  }
  const auto lines = lines_of(output_of(kChakra));
  REQUIRE(lines.size() == 3 + 2 + 1 + 1 + 2 + 1);
  CHECK(
      lines[0] ==
      "# tests/data/chakra/pair: Chakra of 2 ranks; 2 ranks on star (host), network fluid, routes "
      "auto");
  CHECK(lines[1] == "# collectives: all_reduce by ring");
  CHECK(lines[2] == "# nothing folded: too many ranks differ: 2 classes of 2 ranks");
  CHECK(contains(lines.back(), "# slowest: rank 0, "));
  const auto result = json_of(kGoal);
  CHECK(result["schema"] == "lockstep.replay/3");
  CHECK(result["config"]["form"] == "GOAL");
  CHECK(result["config"]["slots"] == "unlimited");
}

TEST_CASE("a trace that cannot end is refused with the wait cycle") {
  check_text_refused("num_ranks 2 rank 0 { a: recv 8b from 1 tag 3 b: calc 1 b requires a }", 1,
                     "deadlock: 1 ends of messages of the trace never complete:\n"
                     "  rank 0, stream \"a\", operation 0: waits to receive 8 bytes from rank 1 on "
                     "channel 3");
  // Both send before they receive: fine as it is, but not where a sender waits for its receiver.
  const TemporaryFile both(
      "num_ranks 2\n"
      "rank 0 { s: send 8b to 1 r: recv 8b from 1 r requires s }\n"
      "rank 1 { s: send 8b to 0 r: recv 8b from 0 r requires s }\n");
  const std::string command = "lockstep replay --cluster star " + both.path();
  CHECK(time_of(command + " --slots 1") == time_of(command));
  check_refused(command + " --slots 0", 1, "rank 0, stream \"s\", operation 0: waits to send 8");
  check_refused(command + " --slots 0", 1, "2 further operations wait for these");
}

TEST_CASE("what is wrong in a GOAL file is reported by line and column") {
  check_text_refused(
      "", 2,
      ":1:1: error: expected \"num_ranks\", with which GOAL begins, got the end of the file");
  check_text_refused(std::string("\x00\xff\x01 x", 5), 2,
                     ":1:1: error: expected \"num_ranks\", with which GOAL begins, got the byte "
                     "0x00\n1 error; nothing was "
                     "run");
  check_text_refused("num_ranks 1 rank 0 { a: calc 1 a requires a }", 2,
                     ":1:22: error: deadlock on rank 0: \"a\" waits for itself");
  check_text_refused("num_ranks 1 rank 0 { a: send 1b to 1 }", 2,
                     ":1:36: error: expected a rank from 0 to 0, got \"1\"");
}

TEST_CASE("what is wrong in Chakra traces is reported by file, node or byte") {
  const TemporaryFolder folder;
  const std::string command = "lockstep replay --cluster star " + folder.path();
  check_refused(command, 2, folder.path() + ": error: no traces in this directory");
  const std::string good = test::trace_bytes({test::compute_node(0, 1), test::compute_node(1, 2)});
  folder.write("t.0.et", good.substr(0, good.size() - 3));
  check_refused(command, 2, "/t.0.et: error: byte 33: a message of 26 bytes begins, but only 23 ");
  folder.write("t.0.et", "");
  check_refused(command, 2, "/t.0.et: error: the file is empty");
  folder.write("t.0.et", "just a text");
  check_refused(command, 2, "the file is cut off or no Chakra trace");
  folder.write("t.0.et",
               test::trace_bytes({test::compute_node(0, 1, {1}), test::compute_node(1, 1, {0})}));
  check_refused(command, 2, "node 0: it can never begin: it depends on node 1, that on it again");
  folder.write("t.0.et", good);
  folder.write("t.2.et", good);
  check_refused(command, 2, "/t.1.et: error: no such file, but there is one for rank 2");
}

TEST_CASE("what is no trace is refused") {
  check_refused("lockstep replay --cluster star /nowhere/x.goal", 2,
                "/nowhere/x.goal: error: no such file");
  check_refused("lockstep replay --cluster star /nowhere/x", 2,
                "/nowhere/x: error: no such file or directory, and no traces x.0.et");
  check_refused("lockstep replay --cluster star tests/data", 2, "no traces in this directory");
  check_refused("lockstep replay --cluster star some.xml", 2, "lockstep collective --schedule");
  check_refused("lockstep replay --cluster star", 2, "expected a trace");
  check_refused(kGoal + " --compute ''", 2, "--compute: expected as-is|zero|FACTOR, got \"\"");
  for (const std::string compute : {"-1", "nan", "fast", "1e7", "0.5x"})
    check_refused(kGoal + " --compute '" + compute + "'", 2, "--compute: expected as-is, zero or");
  check_refused(kGoal + " --network fluidd", 2, "--network: expected fluid, alpha-beta or queue");
}

TEST_CASE("computations that outlast the clock are refused") {
  const TemporaryFile longest("num_ranks 1 rank 0 { calc 9223372036854775 }");  // 106 days
  const std::string command = "lockstep replay --cluster star " + longest.path();
  CHECK(time_of(command) == near(9223372.036854775));
  check_refused(command + " --compute 2", 1, "too large to simulate (times up to 106 days)");
  check_text_refused(
      "num_ranks 1 rank 0 { a: calc 9223372036854775 b: calc 9223372036854775 b requires a }", 1,
      "too large to simulate");
}

}  // namespace lockstep
