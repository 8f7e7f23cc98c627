#include "tools/lockstep/options/rank_choice.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/tools/run_command.hpp"
#include "tools/lockstep/output/errors.hpp"

/// Ranks and speeds of --set-rank and --gpu-speed: `run`, `collective` and `replay` read the same.
namespace lockstep {

using app::SpeedDraw;
using cli::parse_rank_choice;
using cli::parse_speed;

TEST_CASE("ranks are one, ranges, lists of both, all, or a share of all") {
  const auto one = parse_rank_choice("--set-rank", "17").value();
  CHECK(one.is_single());
  CHECK(one.intervals[0].first == 17);
  const auto list = parse_rank_choice("--set-rank", "3,9,12..15").value();
  CHECK_FALSE(list.is_single());
  REQUIRE(list.intervals.size() == 3);
  CHECK(list.intervals[2] == std::pair{12, std::optional{15}});
  CHECK_FALSE(parse_rank_choice("--set-rank", "all").value().intervals[0].second);
  CHECK(parse_rank_choice("--set-rank", "random:2.5%").value().share == 0.025);
  for (const char* bad : {"", "x", "-1", "1..", "1 ,2", "0x1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_rank_choice("--set-rank", bad));
  }
  for (const char* bad : {"random:", "random:1", "random:0%", "random:101%", "random:x%"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_rank_choice("--set-rank", bad), cli::UsageError);
  }
}

TEST_CASE("ranges that descend and empty parts of lists are refused with the reason") {
  const auto refused = [](const char* ranks) {
    try {
      (void)parse_rank_choice("--set-rank", ranks);
    } catch (const cli::UsageError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  CHECK(refused("5..3") ==
        "--set-rank: 5..3 is a range from 5 down to 3; the lower rank comes first");
  for (const char* bad : {"1,,2", "3,", ",3"}) {
    CAPTURE(bad);
    CHECK(contains(refused(bad),
                   std::string{"a rank is missing before or after a comma in \""} + bad + '"'));
  }
}

TEST_CASE("a speed alone is that of computations") {
  const auto of = [](std::string_view text) {
    return cli::speed_as_compute(cli::split_settings(text).at(0));
  };
  CHECK(of("0.8").key == "compute");
  CHECK(of("normal(0.95, 0.02)").value == "normal(0.95, 0.02)");
  CHECK(of("start=2 us").key == "start");
  CHECK(of("0").key == "0");  // no speed
}

TEST_CASE("speeds are a number, or drawn uniformly or from a normal distribution") {
  CHECK(parse_speed("0.8").value().first == 0.8);
  CHECK_FALSE(parse_speed("0.8").value().draws());
  const SpeedDraw uniform = parse_speed("0.9..0.99").value();
  CHECK(uniform.kind == SpeedDraw::Kind::uniform);
  CHECK(uniform.first == 0.9);
  CHECK(uniform.second == 0.99);
  const SpeedDraw normal = parse_speed("normal(0.95, 0.02)").value();
  CHECK(normal.kind == SpeedDraw::Kind::normal);
  CHECK(normal.first == 0.95);
  CHECK(normal.second == 0.02);
  for (const char* bad : {"", "x", "0", "1001", "0.9..", "..0.9", "0.9..0.8", "0..0.9", "0.9..1e3",
                          "normal", "normal()", "normal(0.9)", "normal(0.9,1)", "normal(0,0)",
                          "normal(0.9,0.1", "1e-1", "normal(0.9,0.1,0.1)", "0.9...0.99", "-0.5"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_speed(bad));
  }
}

namespace {

using Json = nlohmann::ordered_json;

const std::string kRing =
    "lockstep collective all_reduce --cluster dgx-h100 --nodes 2 --algorithm ring -b 4M -e 4M ";

/// Times, and the times of every rank.
void check_same(const std::string& a, const std::string& b) {
  CAPTURE(a);
  CAPTURE(b);
  CHECK(json_of(a)["fingerprint"] == json_of(b)["fingerprint"]);
}

}  // namespace

TEST_CASE("collectives take ranges, lists, all ranks and shares of them") {
  check_same(kRing + "--set-rank 2..3 'start=9 us'",
             kRing + "--set-rank 2 'start=9 us' --set-rank 3 'start=9 us'");
  check_same(kRing + "--set-rank 2,5..6=0.5", kRing + "--set-rank 2=0.5 --set-rank 5..6=0.5");
  check_same(kRing + "--set-rank 2 0.5", kRing + "--set-rank 2=0.5");
  check_same(kRing + "--set-rank all 'start=3 us'", kRing + "--set-rank 0..15 'start=3 us'");
  check_same(kRing + "--set-rank random:100%=0.5", kRing + "--set-rank all=0.5");
  // Single ranks override ranges, wherever they stand; other values of the range stay.
  check_same(kRing + "--set-rank 3 'start=0 us' --set-rank 0..7 'start=9 us,compute=0.5'",
             kRing +
                 "--set-rank 0..2 'start=9 us' --set-rank 4..7 'start=9 us' "
                 "--set-rank 3 'start=0 us' --set-rank 0..7 compute=0.5");
}

/// Two of sixteen are one of the 120 pairs; which, the result says.
TEST_CASE("ranks that a collective draws are named with their values and the seed") {
  const std::string command = kRing + "--set-rank random:12.5%=0.2..0.4 --seed 7";
  const Json drawn = json_of(command);
  REQUIRE(drawn["config"]["drawn_ranks"].size() == 2);
  CHECK(drawn["seed"] == 7);
  std::string named = kRing;
  for (const Json& each : drawn["config"]["ranks"]) {
    const double speed = each["compute"].get<double>();
    CHECK(speed >= 0.2);
    CHECK(speed <= 0.4);
    named += fmt::format("--set-rank {}={} ", each["rank"].get<int>(), speed);
  }
  check_same(command, named);
  CHECK(json_of(kRing + "--set-rank random:12.5%=0.2..0.4 --seed 8")["config"]["ranks"] !=
        drawn["config"]["ranks"]);
  CHECK(contains(output_of(command), "2 of 16 ranks drawn with seed 7: rank "));
  const Json late = json_of(kRing + "--set-rank all 'start=10 us..20 us'");
  REQUIRE(late["config"]["ranks"].size() == 16);
  for (const Json& each : late["config"]["ranks"]) {
    CHECK(each["start_s"].get<double>() >= 10e-6);
    CHECK(each["start_s"].get<double>() <= 20e-6);
  }
}

TEST_CASE("a collective with ranks and speeds that are drawn folds, to the same picosecond") {
  for (const std::string more :
       {"--set-rank random:10%=0.5", "--set-rank random:20%=0.2..0.9",
        "--set-rank 'all=normal(0.5,0.1)'", "--set-rank random:10% 'start=0 us..30 us'",
        "--set-rank random:30% 'start=4 us,compute=0.3' --set-rank random:20%=0.9"}) {
    for (const std::string algorithm : {"ring", "halving_doubling", "double_binary_tree"}) {
      const std::string command =
          "lockstep collective all_reduce --cluster rail-optimised --nodes 8 -b 1M -e 4M -f 4 "
          "--algorithm " +
          algorithm + " --seed 3 " + more;
      check_same(command, command + " --fold off");
    }
  }
}

TEST_CASE("speeds of reductions are refused where reductions take no time, and what is no speed") {
  const auto refusal = [](const std::string& settings) {
    const CommandResult result =
        run_command("lockstep collective all_reduce --cluster star --ranks 8 " + settings);
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(contains(refusal("--set-rank 3=0.8"),
                 "--set-rank 3: compute is the speed of reductions, which take no time on this "
                 "cluster; add reduce_rate"));
  CHECK(contains(refusal("--set-rank 3=0"),
                 "--set-rank 3: compute: expected a speed such as 0.8, 0.9..0.99 or "
                 "normal(0.95,0.02), 0.001 to 1000, got \"0\""));
  CHECK(contains(refusal("--set-rank 3 'start=9 us..3 us'"), "start: 3 us is before 9 us"));
  CHECK(contains(refusal("--set-rank random:3 'start=9 us'"), "expected a share of all ranks"));
  CHECK(contains(refusal("--set-rank 3..9 'start=1 us'"), "the cluster has ranks 0 to 7"));
  CHECK(contains(refusal("--set-rank random:90%=0.5 --set-rank random:20%=0.5"),
                 "7 of the 8 ranks are drawn before, which leaves 1"));
  CHECK(contains(refusal("--set-rank 1,x=0.5"),
                 "--set-rank: expected ranks such as 17, 0..7, 3,9,12..15, all, or random:1%, got "
                 "\"1,x\""));
}

TEST_CASE("a step whose speeds are drawn is that of the speeds that it names") {
  const std::string step =
      "lockstep run data-parallel-from-scratch --ignore-memory --no-variants --fidelity all ";
  for (const std::string draw :
       {"random:50%=0.3..0.9", "'random:25%=normal(0.5,0.1)'", "'all=normal(0.9,0.05)'"}) {
    CAPTURE(draw);
    const std::string command = step + "--seed 11 --set-rank " + draw;
    const Json drawn = json_of(command);
    CHECK(drawn["seed"] == 11);
    std::string named = step;
    for (const Json& each : drawn["drawn_speeds"])
      named +=
          fmt::format("--set-rank {}={} ", each["rank"].get<int>(), each["speed"].get<double>());
    check_same(command, named);
    check_same(command + " --classes", command + " --fold off");
    check_same(command, step + "--set seed=11 --set-rank " + draw);
  }
  CHECK(contains(output_of(step + "--seed 11 --set-rank random:25%=0.5..0.9"),
                 "2 of 8 GPUs drawn with seed 11: rank "));
}

}  // namespace lockstep
