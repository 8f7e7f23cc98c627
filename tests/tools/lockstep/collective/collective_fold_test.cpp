#include <doctest/doctest.h>

#include <bit>
#include <cstddef>

#include "tests/tools/run_command.hpp"

/// Folding as the command line shows it.
namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

const std::string kStar =
    "lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 8 --algorithm "
    "ring "
    "-b 1M -e 1M ";

}  // namespace

TEST_CASE("folded and unfolded runs print the same figures") {
  for (const std::string options :
       {"--cluster configs/clusters/dgx-h100.json --nodes 2 --algorithm all -b 8 -e 1M -f 131072",
        "--cluster configs/clusters/rail-optimised.json --nodes 12 --algorithm "
        "double_binary_tree,binary_tree -b 8 -e 8M -f 1024",
        "--cluster configs/clusters/torus-2d.json --algorithm all -b 1M -e 1M --network alpha-beta",
        "--cluster configs/clusters/fat-tree.json --algorithm all -b 1M -e 1M --set-rank 3 "
        "\"reduce_rate=1 GB/s\""}) {
    CAPTURE(options);
    const std::string command = "lockstep collective all_reduce " + options;
    const Json folded = json_of(command + " --fold auto");
    const Json whole = json_of(command + " --fold off");
    CHECK(folded["rows"] == whole["rows"]);
    CHECK(folded["fingerprint"] == whole["fingerprint"]);
    CHECK(folded["fold"][0]["folded"] == true);
    CHECK(whole["fold"][0]["folded"] == false);
  }
}

TEST_CASE("a ring on a star is one class, a straggler makes it eight") {
  const Json alike = json_of(kStar + "--classes")["fold"][0];
  CHECK(alike["classes"] == 1);
  CHECK(alike["members"][0]["members"] == Json::parse("[[0, 7]]"));
  // Eight ranks send in 14 rounds.
  CHECK(alike["transfers"] == 112);
  const Json late = json_of(kStar + "--classes --set-rank 3 'start=10 us'")["fold"][0];
  CHECK(late["classes"] == 8);
  CHECK(late["members"][3]["difference"] == "starts 10 us later");
}

/// Rank 3 starts 10 us late; halving-doubling exchanges with ranks 4, 2 and 1 away, then 1, 2 and
/// 4: in step 0 rank 7 learns of it, in step 1 ranks 1 and 5, in step 2 all others, so that from
/// its end on all are the same again.
TEST_CASE("--classes shows when times part and are the same again") {
  const std::string command =
      "lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 8 --algorithm "
      "halving_doubling -b 1M -e 1M --classes --set-rank 3 'start=10 us'";
  const Json fold = json_of(command)["fold"][0];
  CHECK(fold["distinct_times"] == 3);
  CHECK(fold["spread"] == Json::parse(R"([{"step": 0, "ranks": 2}, {"step": 1, "ranks": 4}])"));
  for (const Json& each : fold["members"]) {
    const int rank = each["representative"].get<int>();
    CAPTURE(rank);
    const Json& parts = each["parts"];
    if (rank % 2 == 0) {
      CHECK(parts.is_null());
      continue;
    }
    CHECK(parts["step"] == (rank == 3 || rank == 7 ? 0 : 1));
    CHECK(parts["same_step"] == 2);
    CHECK(parts["later_s"] == 0.0);
    CHECK(parts["usual_rank"] == 0);
    CHECK(parts["same_from_s"].get<double>() - parts["at_s"].get<double>() > 10e-6);
  }
  const CommandResult table = run_command(command);
  CHECK(
      contains(table.out,
               "3 of 8 classes have times of their own; steps are compared with those of rank 0"));
  CHECK(contains(table.out, "times differ on 2 ranks by step 0, 4 by step 1"));
  CHECK(contains(table.out, "(step 1) until"));
}

/// 2 nodes of 8 ranks and a switch that reduces: the switches are no ranks, and numbered by
/// themselves.
TEST_CASE("--classes distinguishes switches from ranks") {
  const std::string command =
      "lockstep collective all_reduce --cluster dgx-h100 --nodes 2 -a nvls -b 1M -e 1M --classes";
  const CommandResult table = run_command(command);
  CHECK(contains(table.out, "# 16 ranks and 2 switches in 2 classes, 128 links in 4; 6 of 96 "));
  CHECK(contains(table.out, "\n#   16 ranks: 0-15\n"));
  CHECK(contains(table.out, "\n#   2 switches: 0-1; times differ"));
  const Json fold = json_of(command)["fold"][0];
  CHECK(fold["members"][0]["kind"] == "rank");
  CHECK(fold["members"][1]["kind"] == "switch");
  CHECK(contains(run_command("lockstep collective all_reduce --cluster star --ranks 2048 -a "
                             "halving_doubling -b 1M -e 1M --classes --set-rank 3 'start=10 us'")
                     .out,
                 "# 2048 ranks, each simulated, which is quick as no transfers slow down others"));
}

/// Partners of halving and doubling differ in one bit: messages go from 3 to r in as many steps as
/// bits of r differ from those of 3.
TEST_CASE(
    "--classes names the rank whose delay reaches a class, and how many messages away it is") {
  const std::string command =
      "lockstep collective all_reduce --cluster star --ranks 16 -a halving_doubling -b 1M -e 1M "
      "--classes --set-rank 3 'start=10 us'";
  const Json json = json_of(command);
  std::size_t found = 0;
  for (const Json& each : json["fold"][0]["members"]) {
    if (!each.contains("cause")) continue;
    const auto bits = static_cast<unsigned>(each["representative"].get<int>() ^ 3);
    CHECK(each["cause"]["messages"] == std::popcount(bits));
    CHECK(each["cause"]["member"] == "rank 3");
    CHECK(each["cause"]["difference"] == "starts 10 us later");
    ++found;
  }
  CHECK(found == 14);  // neither the late rank nor the usual one
  CHECK(contains(run_command(command).out, "; 4 messages from rank 3 (starts 10 us later)"));
}

/// 2^k ranks have learnt of it after k steps, of 2,048 ranks that are advanced one by one; rank 0
/// is one of the last, so that the last 1,024 differ from it no more.
TEST_CASE("--classes shows how a delay spreads over ranks that are advanced one by one") {
  const Json fold = json_of(
      "lockstep collective all_reduce --cluster configs/clusters/star.json --ranks 2048 "
      "--algorithm halving_doubling -b 1M -e 1M --classes --set-rank 3 'start=10 us'")["fold"][0];
  CHECK(fold["by_rank"] == true);
  REQUIRE(fold["spread"].size() == 10);
  for (int k = 0; k < 10; ++k) CHECK(fold["spread"][k]["ranks"] == 2 << k);
  CHECK(fold["members"][0]["parts"]["ranks"] == 1023);
  CHECK(fold["members"][0]["parts"]["last"]["step"] == 9);
  CHECK(fold["members"][1]["parts"]["step"] == 0);
  CHECK(fold["members"][1]["parts"]["same_step"] == 10);
}

TEST_CASE("chains of a tree's nodes are worked out once for all that have done the same") {
  // Of 64 nodes' chains half are the mirror images of others, and of these all but that of a root
  // are alike.
  const Json fold = json_of(
      "lockstep collective all_reduce --cluster configs/clusters/rail-optimised.json --nodes 64 "
      "--algorithm double_binary_tree:chunks=4 -b 64M -e 64M --classes")["fold"][0];
  CHECK(fold["branches"] == 31);
  CHECK(fold["branch_histories"] < 31);
  CHECK(fold["simulated_transfers"] < fold["transfers"]);
}

TEST_CASE("a rank that starts late holds up a ring by as much") {
  const double usual = rows_of(kStar)[0]["time_s"].get<double>();
  const double late = rows_of(kStar + "--set-rank 3 'start=10 us'")[0]["time_s"].get<double>();
  CHECK(late == doctest::Approx(usual + 10e-6));
}

TEST_CASE("settings of a rank that cannot be are refused with what can") {
  const auto refusal = [](const std::string& settings) {
    const CommandResult result = run_command(kStar + "--set-rank " + settings);
    CHECK(result.status == 2);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK(refusal("9 'start=1 us'").find("the cluster has ranks 0 to 7") != std::string::npos);
  CHECK(refusal("3 'strat=1 us'").find("did you mean \"start\"?") != std::string::npos);
  // Times are picoseconds in 63 bits.
  CHECK(refusal("3 'start=1'")
            .find("start: expected a time such as \"10 us\", at most 9223372 s, "
                  "got \"1\"") != std::string::npos);
  CHECK(refusal("3 'start=9223373 s'").find("at most 9223372 s, got \"9223373 s\"") !=
        std::string::npos);
  CHECK(refusal("3 'message_overhead=1e6 s'")
            .find("message_overhead: expected a time such as \"5 us\", at most 9223372 s, without "
                  "an exponent, got \"1e6 s\"") != std::string::npos);
  CHECK(refusal("x 'start=1 us'").find("expected ranks such as 17") != std::string::npos);
  CHECK(refusal("3 'start=1 us,start=2 us'").find("given twice") != std::string::npos);
  CHECK(run_command(kStar + "--fold always").err.find("expected auto or off") != std::string::npos);
}

}  // namespace lockstep
