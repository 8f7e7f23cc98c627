#include "strategies/measure/confidence/confidence.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "strategies/measure/confidence/coverage.hpp"
#include "strategies/measure/confidence/validated_runs.hpp"

namespace lockstep {

namespace {

RunKind a_kind() {
  RunKind out;
  out.stack = "fused";
  out.gpu = "a100-sxm4-80gb";
  out.model = "transformer";
  out.precision = "bf16";
  out.recompute = "none";
  out.parameters = 7e9;
  out.sequence = 4096;
  out.gpus = 64;
  out.nodes = 8;
  out.dp = 64;
  return out;
}

std::vector<ValidatedRun> runs(const std::string& group, const RunKind& kind, int count,
                               double error) {
  return std::vector<ValidatedRun>(static_cast<std::size_t>(count), {kind, group, error});
}

bool tells(const Confidence& confidence, const std::string& property) {
  return std::any_of(confidence.outside.begin(), confidence.outside.end(),
                     [&](const ExtrapolatedProperty& each) { return each.property == property; });
}

}  // namespace

TEST_CASE("runs that were all simulated a fifth too fast make the step a quarter longer") {
  const Confidence of = confidence_of(1000_ms, a_kind(), runs("g", a_kind(), 10, -0.2));
  // Measured over simulated is 1 / 0.8.
  CHECK(of.expected == 1250_ms);
  CHECK(of.high == 1250_ms);
  CHECK(of.low == 1000_ms);  // the simulated time itself lies inside
  CHECK_FALSE(of.extrapolated());
  CHECK(of.outside.empty());
  CHECK(of.groups == std::vector<std::string>{"g"});
  CHECK(of.runs == 8);  // of 24 at most a third from one group
}

TEST_CASE("nearer runs decide") {
  RunKind far = a_kind();
  far.stack = "unfused";
  far.gpu = "v100-sxm2-32gb";
  far.pp = 8;
  std::vector<ValidatedRun> all;
  for (const char* group : {"a", "b", "c"})
    for (const ValidatedRun& run : runs(group, a_kind(), 8, 0)) all.push_back(run);
  for (const char* group : {"d", "e", "f"})
    for (const ValidatedRun& run : runs(group, far, 8, 1)) all.push_back(run);
  const Confidence of = confidence_of(1000_ms, a_kind(), all);
  CHECK(of.low == 1000_ms);
  CHECK(of.high == 1000_ms);
  // Simulated at twice the measured time.
  CHECK(confidence_of(1000_ms, far, all).expected == 500_ms);
  CHECK(confidence_of(1000_ms, far, all).low == 500_ms);
}

TEST_CASE("the interval holds the middle, not the extremes") {
  std::vector<ValidatedRun> all;
  for (int i = 0; i < 8; ++i) {
    ValidatedRun run{a_kind(), "g", 0};
    run.error = i == 0 ? 9.0 : i == 7 ? -0.9 : 0.0;
    all.push_back(run);
  }
  // An eighth lies on either side, more than half of what the middle leaves: both ends are in.
  const Confidence of = confidence_of(1000_ms, a_kind(), all);
  CHECK(of.low == 100_ms);
  for (const char* group : {"h", "i"})
    for (const ValidatedRun& run : runs(group, a_kind(), 8, 0)) all.push_back(run);
  // One of 24 is not.
  const Confidence more = confidence_of(1000_ms, a_kind(), all);
  CHECK(more.low == 1000_ms);
  CHECK(more.high == 1000_ms);
}

TEST_CASE("what no validated run has is reported") {
  const std::vector<ValidatedRun> checked = runs("g", a_kind(), 10, 0);
  RunKind other = a_kind();
  other.gpu = "b200-sxm-180gb";
  other.ep = 8;
  other.gpus = 16'384;
  const Confidence of = confidence_of(1000_ms, other, checked);
  CHECK(of.extrapolated());
  CHECK(tells(of, "GPU"));
  CHECK(tells(of, "expert parallelism"));
  CHECK(tells(of, "GPUs"));
  CHECK_FALSE(tells(of, "precision"));
  CHECK_FALSE(tells(of, "parameters"));
  CHECK(distance_between(a_kind(), a_kind()) == 0);
  CHECK(distance_between(a_kind(), other) > 2);
}

// Peaks of nine of ten rows were measured at most 1/0.9 - 1 = 11.1 % above the simulated ones.
TEST_CASE("the memory margin covers nine of ten validated peaks") {
  const std::vector<double> errors{-0.5, -0.1, -0.1, -0.1, -0.1, 0, 0, 0, 0.2, 0.3};
  CHECK(memory_margin(errors) == doctest::Approx(1 / 0.9 - 1));
  CHECK(memory_margin({}) == 0);
  CHECK(memory_margin({0.1, 0.2}) == 0);  // simulated too high: no margin is needed
}

// Runs of group a were simulated exactly, those of b a tenth too fast: each group alone tells a
// range of one point, which is not where the runs of the other lie. A run of c lies between theirs,
// so that the interval of the two holds it.
TEST_CASE("what a group's runs took is held against the interval of the other groups") {
  const auto row = [](const std::string& group, double simulated) {
    Comparison out;
    out.group = group;
    out.measured = 1;
    out.simulated = simulated;
    out.kind = a_kind();
    return out;
  };
  std::vector<Comparison> rows{row("a", 1), row("a", 1), row("b", 0.9)};
  CHECK(coverage_by_others(std::span{rows}.first(2)).empty());
  auto found = coverage_by_others(rows);
  REQUIRE(found.size() == 2);
  CHECK(found[0].runs == 2);
  CHECK(found[0].inside == 0);
  CHECK(found[1].inside == 0);
  rows.push_back(row("c", 0.95));
  found = coverage_by_others(rows);
  REQUIRE(found.size() == 3);
  CHECK(found[0].inside == 0);
  CHECK(found[1].inside == 0);
  CHECK(found[2].share() == 1);
}

}  // namespace lockstep
