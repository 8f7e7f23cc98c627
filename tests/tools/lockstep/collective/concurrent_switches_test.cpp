#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tools/run_command.hpp"

/// Collectives at once that reduce in switches or use hosts, and ranks that start at random times.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kH100 = "lockstep collective --cluster dgx-h100 --nodes 2 --concurrent ";

/// Times of each, and of every call.
void check_folds_alike(const std::string& command) {
  CAPTURE(command);
  const Json folded = json_of(command);
  const Json unfolded = json_of(command + " --fold off");
  CHECK(folded["rows"] == unfolded["rows"]);
  CHECK(folded["fingerprint"] == unfolded["fingerprint"]);
  CHECK(folded["fold"]["folded"] == true);
  CHECK(unfolded["fold"]["folded"] == false);
}

std::string job(const std::string& collective, const std::string& algorithm,
                const std::string& more = "") {
  return fmt::format(R"({{"collective": "{}", "algorithm": "{}", "size": "3 MiB"{}}})", collective,
                     algorithm, more.empty() ? "" : ", " + more);
}

std::string file_of(const std::vector<std::string>& jobs) {
  return fmt::format(R"({{"collectives": [{}]}})", fmt::join(jobs, ", "));
}

}  // namespace

/// The oracle is `collective` with the same algorithm: one of them alone is one collective.
TEST_CASE("reductions in switches alone among collectives at once take their usual time") {
  for (const std::string collective : {"all_reduce", "all_gather", "reduce_scatter"}) {
    for (const std::string algorithm : {"sharp", "nvls"}) {
      const std::string nodes = algorithm == "nvls" && collective != "all_reduce" ? "1" : "2";
      const std::string cluster = "--cluster dgx-h100 --nodes " + nodes + " ";
      CAPTURE(collective);
      CAPTURE(algorithm);
      const TemporaryFile file(file_of({job(collective, algorithm)}));
      const auto usual = rows_of("lockstep collective " + collective + " " + cluster +
                                 "-b 3M -e 3M --algorithm " + algorithm);
      const auto among = rows_of("lockstep collective " + cluster + "--concurrent " + file.path());
      CHECK(among[0]["alone_s"] == usual[0]["time_s"]);
      CHECK(among[0]["together_s"] == usual[0]["time_s"]);
    }
  }
}

/// Every second rank: members 0 to 3 of the second are ranks 8, 10, 12 and 14.
TEST_CASE(
    "classes of collectives at once name collectives, their ranks in the cluster, and switches") {
  const TemporaryFile file(
      file_of({job("all_reduce", "nvls", R"("name": "sums", "ranks": {"first": 0, "count": 4})"),
               job("all_gather", "ring",
                   R"("name": "weights", "ranks": {"first": 8, "count": 4, "stride": 2})")}));
  const std::string command = kH100 + file.path() + " --set-rank 10 'start=30 us' --classes";
  const std::string out = run_command(command).out;
  CHECK(contains(out, "members of 2 collectives in "));
  CHECK(contains(out, "4 ranks: sums 0-3"));
  CHECK(contains(out, "switch: sums 0"));
  CHECK(contains(out, "1 rank: weights 10;"));
  std::vector<std::string> weights;
  const Json json = json_of(command);
  for (const Json& each : json["fold"]["members"]) {
    if (each["collective"] != "weights") continue;
    CHECK(each["kind"] == "rank");
    for (const Json& range : each["members"])
      for (int rank = range["first"]; rank <= range["last"]; ++rank)
        weights.push_back(std::to_string(rank));
  }
  std::sort(weights.begin(), weights.end());
  CHECK(fmt::format("{}", fmt::join(weights, " ")) == "10 12 14 8");
}

TEST_CASE("collectives at once that share reducing switches fold, to the same picosecond") {
  const std::string half = R"("ranks": {"first": 0, "count": 8})";
  const std::string other = R"("ranks": {"first": 8, "count": 8})";
  const std::string even = R"("ranks": {"first": 0, "count": 8, "stride": 2})";
  const std::vector<std::vector<std::string>> files{
      {job("all_reduce", "nvls"), job("all_reduce", "nvls")},
      {job("all_reduce", "nvls", half), job("all_reduce", "nvls", other)},
      {job("all_reduce", "sharp"), job("all_reduce", "ring", R"("start": "5 us")")},
      {job("all_reduce", "sharp"), job("all_reduce", "nvls", half + R"(, "repeat": 3)")},
      {job("all_reduce", "sharp", even), job("all_reduce", "nvls", R"("start": "9 us")")},
      {job("all_gather", "sharp"), job("reduce_scatter", "nvls", half)},
      {job("all_reduce", "parameter_server"), job("all_reduce", "ring")}};
  for (const auto& jobs : files) {
    const TemporaryFile file(file_of(jobs));
    for (const std::string more :
         {"", " --set-rank 3 'start=30 us'", " --set-rank random:20%=0.3 --seed 5",
          " --skew '20 us'", " --set-link node1/nic0 bandwidth=50%"})
      check_folds_alike(kH100 + file.path() + more);
  }
}

/// Half of the links' rate each: two equal reductions by one NVSwitch take up to twice the time of
/// one, those of two nodes nothing of each other.
TEST_CASE("reductions of one node slow each other down, those of two nodes do not") {
  const auto slowdown = [](int first) {
    const TemporaryFile file(fmt::format(
        R"({{"collectives": [{}, {}]}})",
        R"({"collective": "all_reduce", "algorithm": "nvls", "size": "64 MiB",
            "ranks": {"first": 0, "count": 8}})",
        fmt::format(R"({{"collective": "all_reduce", "algorithm": "nvls", "size": "64 MiB",
            "ranks": {{"first": {}, "count": 8}}}})",
                    first)));
    return rows_of(kH100 + file.path())[0]["slowdown"].get<double>();
  };
  CHECK(slowdown(8) == 1);
  CHECK(slowdown(0) > 1.5);
  CHECK(slowdown(0) <= 2);
}

TEST_CASE("what a cluster lacks for a collective among several is named") {
  const TemporaryFile file(file_of({job("all_reduce", "nvls")}));
  const CommandResult star =
      run_command("lockstep collective --cluster star --ranks 4 --concurrent " + file.path());
  CHECK(star.status == 2);
  CHECK(contains(star.err, "all_reduce 0: "));
  CHECK(contains(star.err, "nvls"));
}

/// One collective among several alone is as `collective --skew` has it, with the same draws.
TEST_CASE("ranks are as late among several collectives as in one") {
  for (const std::string algorithm : {"ring", "halving_doubling", "sharp"}) {
    CAPTURE(algorithm);
    const TemporaryFile file(file_of({job("all_reduce", algorithm)}));
    const auto usual = rows_of(
        "lockstep collective all_reduce --cluster dgx-h100 --nodes 2 -b 3M -e 3M --skew '40 us' "
        "--seed 9 --algorithm " +
        algorithm);
    const auto among = rows_of(kH100 + file.path() + " --skew '40 us' --seed 9");
    CHECK(among[0]["together_s"] == usual[0]["time_s"]);
    CHECK(json_of(kH100 + file.path() + " --skew '40 us'")["config"]["skew_s"] == 40e-6);
    CHECK(rows_of(kH100 + file.path())[0]["together_s"] < among[0]["together_s"]);
  }
}

/// The barrier waits for the later of two ranks: at most as late as the skew, and for a rank with a
/// start of its own until then, whatever the skew.
TEST_CASE("a rank with a start of its own has no other delay") {
  const TemporaryFile file(R"({"collectives": [
    {"name": "a", "collective": "barrier", "size": "1 B", "start": "40 us"}]})");
  const std::string command =
      "lockstep collective --cluster star --ranks 2 --concurrent " + file.path();
  const double usual = rows_of(command)[0]["together_s"].get<double>();
  const double skewed = rows_of(command + " --skew '8 us'")[0]["together_s"].get<double>();
  CHECK(skewed > usual);
  CHECK(skewed <= usual + 8e-6);
  const auto late = rows_of(command + " --skew '8 us' --set-rank all 'start=100 us'");
  CHECK(late[0]["together_s"].get<double>() == doctest::Approx(usual + 60e-6));
}

}  // namespace lockstep
