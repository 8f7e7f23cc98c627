#include <doctest/doctest.h>

#include <string>

#include "tests/tools/run_command.hpp"

/// `lockstep verify collective`: what it prints, what it refuses, how it ends.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

Json verified(const std::string& options) {
  return rows_of("lockstep verify collective " + options);
}

/// A GPU of two, with one lane that sends to the other and receives from it on channel 0.
std::string gpu(int id, const std::string& steps) {
  const std::string other = std::to_string(1 - id);
  return "<gpu id=\"" + std::to_string(id) + "\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\">" +
         "<tb id=\"0\" send=\"" + other + "\" recv=\"" + other + "\" chan=\"0\">" + steps +
         "</tb></gpu>";
}

std::string step(int s, const std::string& type, int chunk) {
  const std::string off = std::to_string(chunk);
  return "<step s=\"" + std::to_string(s) + "\" type=\"" + type + "\" srcbuf=\"i\" srcoff=\"" +
         off + "\" dstbuf=\"i\" dstoff=\"" + off +
         "\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>";
}

/// Two GPUs exchange both chunks of an all-reduce: GPU 0 sends first, GPU 1 as `last` says takes
/// the second chunk in.
std::string exchange(const std::string& collective, const std::string& last) {
  const std::string first =
      step(0, "s", 0) + step(1, "s", 1) + step(2, "rrc", 0) + step(3, "rrc", 1);
  const std::string second =
      step(0, "s", 0) + step(1, "s", 1) + step(2, "rrc", 0) + step(3, last, 1);
  return "<algo name=\"exchange\" nchannels=\"1\" nchunksperloop=\"2\" proto=\"Simple\" "
         "ngpus=\"2\" coll=\"" +
         collective + "\" inplace=\"1\">" + gpu(0, first) + gpu(1, second) + "</algo>";
}

/// What is refused, and what is said.
std::string usage_error(const std::string& options) {
  const CommandResult result = run_command("lockstep verify collective " + options);
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  return result.err;
}

}  // namespace

TEST_CASE("a verified ring moves the least there is") {
  const Json rows = verified("all_reduce --algorithm ring --ranks 2..4,8");
  REQUIRE(rows.size() == 4);
  std::size_t row = 0;
  for (const int n : {2, 3, 4, 8}) {
    CAPTURE(n);
    const Json& it = rows[row++];
    CHECK(it["ranks"] == n);
    CHECK(it["root"].is_null());
    CHECK(it["ok"] == true);
    CHECK(it["symbolic"] == true);
    CHECK(it["orders"] == 3);
    CHECK(it["races"] == 0);
    CHECK(it["wrong"] == 0);
    CHECK(it["out_of_bound"] == 0);
    CHECK(it["worst_of_bound"].get<double>() > 0);
    CHECK(it["worst_of_bound"].get<double>() <= 1);
    CHECK(it["count"] == 3 * n - 1);  // three a block, one missing
    CHECK(it["ends"] == true);
    CHECK(it["sent_messages"].get<double>() == doctest::Approx(2.0 * (n - 1) / n));
    CHECK(it["sent_of_least"].get<double>() == doctest::Approx(1));
    CHECK(it["problem"] == "");
    CHECK(it["wrong_rank"].is_null());
  }
}

TEST_CASE("every row of every collective is verified, from every root") {
  const Json rows = verified("all --ranks 4 --ranks-per-node 2 --dims 2x2 --root all");
  CHECK(rows.size() > 40);
  int broadcasts = 0;
  for (const Json& row : rows) {
    CAPTURE(row.dump());
    CHECK(row["ok"] == true);
    if (row["collective"] == "broadcast" && row["algorithm"] == "binomial")
      CHECK(row["root"] == broadcasts++);
  }
  CHECK(broadcasts == 4);
}

TEST_CASE("where servers add up, ranks may move less than the least") {
  const Json row = verified("all_reduce --algorithm parameter_server:shards=2 --ranks 4")[0];
  CHECK(row["helpers"] == 2);
  // A worker gives the message once and gets it once, where 2(n-1)/n = 1.5 is the least without
  // servers; a server gives half of it to each of four workers.
  CHECK(row["sent_messages"] == 1);
  CHECK(row["received_messages"] == 1);
  CHECK(row["sent_of_least"].get<double>() == doctest::Approx(1 / 1.5));
  CHECK(row["sent_by_helper_messages"] == 2);
  const std::string table = output_of(
      "lockstep verify collective all_reduce --algorithm parameter_server --ranks 4 --wide");
  CHECK(contains(table, "0.667 *"));
  CHECK(contains(table, "* servers or switches reduce"));
}

TEST_CASE("a message of any length is verified") {
  CHECK(verified("all_reduce --algorithm ring --ranks 4 --count 1001")[0]["count"] == 1001);
  CHECK(verified("all_reduce --algorithm ring --ranks 4 --size 1M")[0]["count"] == 262'144);
  CHECK(verified("all_reduce --algorithm ring --ranks 4 --count 0")[0]["ok"] == true);
}

TEST_CASE("a right schedule of somebody else's is verified, and named or not") {
  const TemporaryFile file(exchange("allreduce", "rrc"));
  for (const std::string name : {"", "all_reduce "}) {
    const Json rows = verified(name + "--schedule " + file.path());
    REQUIRE(rows.size() == 1);
    CHECK(rows[0]["collective"] == "all_reduce");
    CHECK(rows[0]["ranks"] == 2);
    CHECK(rows[0]["ok"] == true);
    CHECK(rows[0]["deepest_queue"] == 2);  // both chunks, before either is taken
  }
  CHECK(contains(usage_error("all_gather --schedule " + file.path()),
                 "it does all_reduce, not all_gather"));
}

TEST_CASE("a schedule that does not say what it does is held to what it is said to do") {
  const TemporaryFile file(exchange("custom", "rrc"));
  CHECK(contains(usage_error("--schedule " + file.path()), "name one before it"));
  CHECK(verified("all_reduce --schedule " + file.path())[0]["ok"] == true);
  CHECK(run_command("lockstep verify collective broadcast --schedule " + file.path()).status == 1);
}

TEST_CASE("a wrong schedule ends with 1 and the first wrong chunk, rank and round") {
  const TemporaryFile file(exchange("allreduce", "r"));
  const CommandResult result =
      run_command("lockstep verify collective --format json --schedule " + file.path());
  CHECK(result.status == 1);
  CHECK(contains(result.err,
                 "error: all_reduce exchange, 2 ranks: round 2: rank 1, chunk 1 of data: lacks "
                 "rank 1's chunk 1; last written by lane 0, step 3"));
  const Json row = Json::parse(result.out)["rows"][0];
  CHECK(row["ok"] == false);
  CHECK(row["symbolic"] == false);
  // The second block's three elements less the missing one, in either pass: exact, then in bound.
  CHECK(row["wrong"] == 2);
  CHECK(row["out_of_bound"] == 2);
  CHECK(row["wrong_rank"] == 1);
  CHECK(row["wrong_chunk"] == 1);
  CHECK(row["wrong_chunks"] == 1);
  // Sent by step 1, which is the second to send; taken by step 3, which only receives.
  CHECK(row["wrong_round"] == 2);
  CHECK(row["wrong_lane"] == 0);
  CHECK(row["wrong_step"] == 3);
}

TEST_CASE("too few slots end with 1 and the wait cycle") {
  const TemporaryFile file(exchange("allreduce", "rrc"));
  const std::string command = "lockstep verify collective --schedule " + file.path();
  CHECK(run_command(command + " --slots 2").status == 0);
  const CommandResult one = run_command(command + " --slots 1");
  CHECK(one.status == 1);
  CHECK(contains(one.err,
                 "deadlock with 1 slot (2 would be enough): rank 0 step 1 waits to send to rank 1 "
                 "<- rank 1 step 1 waits to send to rank 0 <- rank 0 step 1"));
  CHECK(
      contains(run_command(command + " --slots 0").err, "where every send waits for its receive"));
  const CommandResult timed = run_command(
      "lockstep collective --cluster configs/clusters/star.json --ranks 2 --slots 1 --schedule " +
      file.path());
  CHECK(timed.status == 1);
  CHECK(contains(timed.err,
                 "deadlock: rank 0 step 1 waits to send to rank 1 <- rank 1 step "
                 "1 waits to send to rank 0 <- rank 0 step 1; "));
}

TEST_CASE("a ring of fused steps cannot end with one slot, whoever runs it") {
  // Each of three keeps the slot of the message that it would send on (msccl_slots_test.cpp).
  const std::string file = " --schedule tests/data/msccl/allreduce_ring_fused.xml";
  const std::string ring =
      "rank 0 step 2 waits to send to rank 1 <- rank 1 step 2 waits to send to rank 2 <- rank 2 "
      "step 2 waits to send to rank 0 <- rank 0 step 2";
  const std::string verify = "lockstep verify collective" + file + " --slots ";
  const CommandResult verified = run_command(verify + "1");
  CHECK(verified.status == 1);
  CHECK(contains(verified.err, "deadlock with 1 slot (2 would be enough): " + ring));
  CHECK(run_command(verify + "2").status == 0);
  const std::string time = "lockstep collective --cluster star" + file + " --slots ";
  const CommandResult timed = run_command(time + "1");
  CHECK(timed.status == 1);
  CHECK(contains(timed.err, "deadlock: " + ring));
  CHECK(run_command(time + "2").status == 0);
}

TEST_CASE("what cannot be verified is refused before anything is") {
  CHECK(contains(usage_error(""), "expected a collective, such as all_reduce"));
  CHECK(contains(usage_error("all_reduc"), "did you mean \"all_reduce\"?"));
  CHECK(contains(usage_error("all_reduce --algorithm rng"), "did you mean \"ring\"?"));
  for (const std::string ranks : {"0", "4..2", "x", "2,,3", "1..", "70000"})
    CHECK(contains(usage_error("all_reduce --ranks " + ranks), "--ranks: expected numbers"));
  CHECK(contains(usage_error("broadcast --root last"), "--root: expected a rank or all"));
  CHECK(contains(usage_error("broadcast --ranks 4 --root 4"),
                 "--root: expected a rank from 0 to 3, got 4"));
  CHECK(contains(usage_error("all_reduce --size 1M --count 5"), "cannot be combined"));
  CHECK(contains(usage_error("all_reduce --size huge"), "--size: expected a size"));
  CHECK(contains(usage_error("all_reduce --dims 2y2"), "--dims: expected dimensions"));
  CHECK(contains(usage_error("all_reduce --slots -1"), "--slots: expected an integer"));
  CHECK(contains(usage_error("all --algorithm ring"), "--algorithm all"));
  CHECK(contains(usage_error("--schedule nowhere.xml"), "nowhere.xml"));
}

TEST_CASE("what some numbers of ranks do not allow is left out and named") {
  // Nodes of four: no whole ones in six ranks.
  const std::string table = output_of(
      "lockstep verify collective all_reduce --algorithm hierarchical --ranks 6,8 "
      "--ranks-per-node 4");
  CHECK(contains(table, "1 verified, 0 wrong"));
  CHECK(contains(table, "skipped: all_reduce 6 ranks: hierarchical: "));
}

TEST_CASE("a verdict is the same every time, and its fingerprint with it") {
  const std::string command =
      "lockstep verify collective all --ranks 5,6 --ranks-per-node 3 --format json";
  const std::string once = output_of(command);
  CHECK(once == output_of(command));
  CHECK(Json::parse(once)["fingerprint"].get<std::string>().size() == 16);
}

}  // namespace lockstep
