#include <doctest/doctest.h>

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

TEST_CASE("chains of a tree's nodes are worked out once for all that have done the same") {
  // Of 64 nodes' chains all but those of the two trees' roots are alike.
  const Json fold = json_of(
      "lockstep collective all_reduce --cluster configs/clusters/rail-optimised.json --nodes 64 "
      "--algorithm double_binary_tree:chunks=4 -b 64M -e 64M --classes")["fold"][0];
  CHECK(fold["branches"] == 62);
  CHECK(fold["branch_histories"] < 62);
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
  CHECK(refusal("3 'start=1'").find("expected a time such as \"10 us\"") != std::string::npos);
  CHECK(refusal("x 'start=1 us'").find("expected a rank such as 17") != std::string::npos);
  CHECK(refusal("3 'start=1 us,start=2 us'").find("given twice") != std::string::npos);
  CHECK(run_command(kStar + "--fold always").err.find("expected auto or off") != std::string::npos);
}

}  // namespace lockstep
