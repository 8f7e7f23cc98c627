#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/config/json/config_error.hpp"
#include "tests/tools/run_command.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

/// Files of collectives that share a cluster, as a user writes them.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kCommand = "lockstep collective --cluster dgx-h100 --concurrent ";
const std::string kExample = LOCKSTEP_SOURCE_DIR "/tests/data/concurrent/two-jobs.json";

void read(std::string_view text) {
  const TemporaryFile file(text);
  const CommandResult result = run_command(kCommand + file.path());
  if (result.status != 0) throw ConfigError(Problem{file.path(), {}, "", result.err});
}

}  // namespace

TEST_CASE("schema and reader accept the shipped collectives at once and refuse the same changes") {
  const SchemaAgreement both{LOCKSTEP_SOURCE_DIR "/configs/schema/concurrent.schema.json", read};
  const std::string good = text_of_file(kExample);
  CHECK(both.verdict(good) == "both accept");
  CHECK(both.verdict(mutated(good, {"a schema", "/$schema", "\"x\""})) == "both accept");
  for (const Mutation& m :
       std::vector<Mutation>{{"unknown key", "/collectives/0/rank", "1"},
                             {"no collective", "/collectives/0/collective", ""},
                             {"misspelt", "/collectives/0/collective", "\"all_redcue\""},
                             {"no size", "/collectives/0/size", ""},
                             {"bare number", "/collectives/0/size", "64"},
                             {"start without unit", "/collectives/0/start", "\"5\""},
                             {"never", "/collectives/0/repeat", "0"},
                             {"no weight", "/collectives/0/traffic_weight", "0"},
                             {"weight above 100", "/collectives/0/traffic_weight", "101"},
                             {"rank below zero", "/collectives/2/ranks/0", "-1"},
                             {"rank twice", "/collectives/2/ranks/0", "3"},
                             {"nobody", "/collectives/2/ranks", "[]"},
                             {"no count", "/collectives/1/ranks/count", ""},
                             {"nothing", "/collectives", "[]"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(good, m)) == "both refuse");
  }
}

/// Two equal broadcasts over the same links share them in halves, or in 3 and 1 parts of 4: the
/// heavier then takes 4/3 of its time alone. Latencies make it a little less.
TEST_CASE("traffic weights divide the links that collectives share") {
  const auto slowdown_of_first = [](int weight, const std::string& network) {
    const TemporaryFile file(fmt::format(R"({{"collectives": [
      {{"name": "a", "collective": "broadcast", "algorithm": "chain", "size": "1 GiB",
       "traffic_weight": {}}},
      {{"name": "b", "collective": "broadcast", "algorithm": "chain", "size": "1 GiB"}}]}})",
                                         weight));
    const auto rows = rows_of("lockstep collective --cluster ring --ranks 4 --network " + network +
                              " --concurrent " + file.path());
    return rows[0]["slowdown"].get<double>();
  };
  for (const char* network : {"fluid", "alpha-beta"}) {
    CAPTURE(network);
    CHECK(slowdown_of_first(1, network) == doctest::Approx(2).epsilon(0.01));
    CHECK(slowdown_of_first(3, network) == doctest::Approx(4.0 / 3).epsilon(0.01));
  }
  const TemporaryFile file(R"({"collectives": [{"collective": "broadcast", "size": "1 MiB",
                              "traffic_weight": 2}]})");
  const CommandResult queue = run_command(
      "lockstep collective --cluster ring --ranks 4 --network queue --concurrent " + file.path());
  CHECK(queue.status == 2);
  CHECK(contains(queue.err, "traffic_weight requires --network fluid or alpha-beta"));
}

// Repeated calls are one folded call of a schedule that repeats; --fold off replays each rank.
TEST_CASE("collectives at once fold, to the same picosecond") {
  const std::vector<std::string> jobs{
      R"({"collective": "all_reduce", "algorithm": "ring", "size": "4 MiB", "repeat": 3})",
      R"({"collective": "all_to_all", "algorithm": "pairwise", "size": "1 MiB", "start": "20 us",
          "repeat": 2, "ranks": {"first": 0, "count": 8, "stride": 4}})",
      R"({"collective": "all_reduce", "algorithm": "halving_doubling", "size": "7 MiB",
          "start": "5 us", "traffic_weight": 3})",
      R"({"collective": "broadcast", "algorithm": "binomial", "size": "1 MiB", "repeat": 4})"};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      const TemporaryFile file(
          fmt::format(R"({{"collectives": [{}, {}, {}]}})", jobs[0], jobs[i], jobs[j]));
      const auto result = [&](const std::string& more) {
        return Json::parse(run_command("lockstep collective --cluster dgx-h100 --nodes 4 "
                                       "--format json --concurrent " +
                                       file.path() + more)
                               .out);
      };
      const Json folded = result("");
      const Json unfolded = result(" --fold off");
      CHECK(folded.at("fingerprint") == unfolded.at("fingerprint"));
      CHECK(folded.at("fold").at("folded") == true);
      CHECK(unfolded.at("fold").at("folded") == false);
      CHECK(folded.at("fold").at("classes") <= (i < 3 ? 48 : 96));  // a root is alone
    }
  }
  const CommandResult classes = run_command(kCommand + kExample + " --classes");
  CHECK(contains(classes.out, " members of 3 collectives in "));
}

/// Two all-reduces, of 8 and of 8 or 6 of 16 ranks: on other nodes, on one of the other's, and with
/// ranks of both.
TEST_CASE("collectives at once fold with late and slow ranks and links, to the same picosecond") {
  const std::vector<std::string> second{R"({"first": 8, "count": 8})",
                                        R"({"first": 4, "count": 8})", R"([0, 3, 5, 9, 11, 14])"};
  const std::vector<std::string> differences{
      "--set-rank 3 'start=30 us'",
      "--set-rank 3 'start=30 us' --set-rank 9 'message_overhead=2 us'",
      "--set-rank 5 'reduce_rate=5 GB/s' --set-rank 11 'start=7 us'",
      "--set-rank 9 'start=12 us' --set-link node1/nic0 bandwidth=50%", "--fail node0/nic1"};
  for (const std::string& ranks : second) {
    for (const std::string& more : differences) {
      for (const int repeat : {1, 3}) {
        CAPTURE(ranks);
        CAPTURE(more);
        const TemporaryFile file(fmt::format(
            R"({{"collectives": [
              {{"collective": "all_reduce", "size": "4 MiB", "ranks": {{"first": 0, "count": 8}},
               "repeat": {}}},
              {{"collective": "all_reduce", "algorithm": "recursive_doubling", "size": "1 MiB",
               "start": "10 us", "ranks": {}}}]}})",
            repeat, ranks));
        const auto result = [&](const std::string& fold) {
          return json_of("lockstep collective --cluster dgx-h100 --nodes 2 --concurrent " +
                         file.path() + " " + more + " --fold " + fold);
        };
        const Json folded = result("auto");
        const Json unfolded = result("off");
        CHECK(folded.at("rows") == unfolded.at("rows"));
        CHECK(folded.at("fold").at("folded") == true);
        CHECK(unfolded.at("fold").at("folded") == false);
      }
    }
  }
}

/// A rank comes 100 us late: to the collective that begins at once so much too late, 60 us to that
/// which begins after 40 us, and not to that which begins after 200 us. All members of a barrier
/// wait for it.
TEST_CASE("a late rank begins no collective before its start") {
  const TemporaryFile file(R"({"collectives": [
    {"name": "now", "collective": "barrier", "size": "1 B", "ranks": [0, 1]},
    {"name": "soon", "collective": "barrier", "size": "1 B", "start": "40 us", "ranks": [1, 2]},
    {"name": "later", "collective": "barrier", "size": "1 B", "start": "200 us", "ranks": [1, 3]}]})");
  const std::string command =
      "lockstep collective --cluster star --ranks 4 --concurrent " + file.path();
  const auto usual = rows_of(command);
  const auto late = rows_of(command + " --set-rank 1 'start=100 us'");
  const auto delay = [&](std::size_t i) {
    return late[i]["together_s"].get<double>() - usual[i]["together_s"].get<double>();
  };
  CHECK(delay(0) == doctest::Approx(100e-6));
  CHECK(delay(1) == doctest::Approx(60e-6));
  CHECK(delay(2) == 0);
  const Json whole = json_of(command + " --set-rank 1 'start=100 us'");
  CHECK(whole["config"]["ranks"][0]["rank"] == 1);
  CHECK(whole["config"]["ranks"][0]["start_s"] == 100e-6);
  const CommandResult nobody =
      run_command("lockstep collective --cluster star --ranks 8 --concurrent " + file.path() +
                  " --set-rank 7 'start=1 us'");
  CHECK(nobody.status == 2);
  CHECK(contains(nobody.err, "--set-rank 7"));
  CHECK(contains(nobody.err, "takes part in no collective of"));
  const CommandResult missing = run_command(command + " --set-rank 4 'start=1 us'");
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "the cluster has ranks 0 to 3"));
}

TEST_CASE("options without effect on collectives at once, crossovers and comparisons are refused") {
  for (const std::string option : {"--check", "--load"}) {
    CAPTURE(option);
    const CommandResult result = run_command(kCommand + kExample + " " + option);
    CHECK(result.status == 2);
    CHECK(contains(result.err, option.substr(0, option.find(' '))));
  }
  for (const std::string option : {"--check", "--load", "--classes"}) {
    CAPTURE(option);
    const CommandResult result = run_command(
        "lockstep collective all_reduce --cluster star --ranks 4 --algorithm all "
        "--crossover " +
        option);
    CHECK(result.status == 2);
    CHECK(contains(result.err, option + " has no effect with --crossover"));
  }
}

TEST_CASE("options that the file of --concurrent specifies are refused") {
  for (const std::string more : {"-b 8", "-e 1G", "-f 2", "-i 1M", "--algorithm ring"}) {
    CAPTURE(more);
    const CommandResult result = run_command(kCommand + kExample + " " + more);
    CHECK(result.status == 2);
    CHECK(contains(result.err, "omit them on the command line"));
  }
  CHECK(run_command("lockstep collective all_gather --concurrent " + kExample).status == 2);
}

/// Two of 1,600 ranks that each send to all others: 2 * 1,600 * 1,599 messages at once, of half as
/// many pairs.
TEST_CASE("collectives at once that need too much memory are refused before they take it") {
  const TemporaryFile file(R"({"collectives": [
    {"collective": "all_reduce", "algorithm": "one_shot", "size": "1 MiB"},
    {"collective": "all_reduce", "algorithm": "one_shot", "size": "2 MiB"}]})");
  const CommandResult result =
      run_command("lockstep collective --cluster star --ranks 1600 " +
                  ("--max-memory 3G --fold off --concurrent " + file.path()));
  CHECK(result.status == 2);
  CHECK(
      contains(result.err,
               "all_reduce 0 on 1600 ranks: a replay needs some 3.19 GiB of memory (about "
               "5.12e+06 pairs of ranks send to each other, 5.12e+06 messages at once), the limit "
               "is 3 GiB; use fewer ranks, an algorithm that sends less at once, --fold auto, or "
               "raise --max-memory of `lockstep collective`"));
  CHECK(run_command(kCommand + kExample + " --max-memory 1").status == 0);
}

}  // namespace lockstep
