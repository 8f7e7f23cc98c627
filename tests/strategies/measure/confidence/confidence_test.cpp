#include "strategies/measure/confidence/confidence.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

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
  const Confidence of = confidence_of(1000_ms, a_kind(), {runs("g", a_kind(), 10, -0.2), {0, 0}});
  // Measured over simulated is 1 / 0.8.
  CHECK(of.expected == 1250_ms);
  CHECK(of.high == 1250_ms);
  CHECK(of.low == 1000_ms);  // the simulated time itself lies inside
  CHECK_FALSE(of.extrapolated());
  CHECK(of.share == 0.8);
  CHECK(of.outside.empty());
  CHECK(of.groups == std::vector<std::string>{"g"});
  CHECK(of.runs == 8);  // of 24 at most a third from one group
}

TEST_CASE("nearer runs decide") {
  RunKind far = a_kind();
  far.stack = "unfused";
  far.gpu = "v100-sxm2-32gb";
  far.pp = 8;
  ValidatedRuns all;
  all.width = {0, 0};
  for (const char* group : {"a", "b", "c"})
    for (const ValidatedRun& run : runs(group, a_kind(), 8, 0)) all.runs.push_back(run);
  for (const char* group : {"d", "e", "f"})
    for (const ValidatedRun& run : runs(group, far, 8, 1)) all.runs.push_back(run);
  const Confidence of = confidence_of(1000_ms, a_kind(), all);
  CHECK(of.low == 1000_ms);
  CHECK(of.high == 1000_ms);
  // Simulated at twice the measured time.
  CHECK(confidence_of(1000_ms, far, all).expected == 500_ms);
  CHECK(confidence_of(1000_ms, far, all).low == 500_ms);
}

TEST_CASE("what no validated run has makes a run one outside of the validated domain") {
  RunKind validated = a_kind();
  validated.features = {{"pipeline schedule", "1f1b"}, {"pipeline schedule", "zb-1p"}};
  const ValidatedRuns all{runs("g", validated, 8, 0), {1, 2}};
  RunKind kind = a_kind();
  kind.features = {{"pipeline schedule", "zb-1p"}};
  CHECK_FALSE(confidence_of(1000_ms, kind, all).extrapolated());
  kind.features = {{"pipeline schedule", "zb-v"}, {"attention", "with sinks"}};
  const Confidence of = confidence_of(1000_ms, kind, all);
  CHECK_FALSE(of.share.has_value());
  REQUIRE(of.outside.size() == 2);
  CHECK(of.outside[0].property == "attention");
  CHECK(of.outside[0].checked == "none");
  CHECK(of.outside[1].value == "zb-v");
  CHECK(of.outside[1].checked == "1f1b, zb-1p");
}

// Half the width is a spread: that of the errors, and 0.0005 for their digits.
TEST_CASE("the interval is as wide as the errors of the nearest runs say") {
  const ValidatedRuns exact{runs("g", a_kind(), 8, 0), {2, 4}};
  const double least = std::exp(2 * 0.0005);
  CHECK(confidence_of(1000_ms, a_kind(), exact).high.seconds() == doctest::Approx(least));
  ValidatedRuns spread = exact;
  for (std::size_t i = 0; i < 4; ++i) spread.runs[i].error = 1 / 1.1 - 1;  // 10 % too fast
  // The median is 1 or 1.1, the spread log(1.1): four of eight have it.
  const MeasuredRange range = measured_over_simulated(a_kind(), spread.runs, 1);
  CHECK(range.high / range.median == doctest::Approx(1.1 * std::exp(0.0005)));
}

// Three groups of eight runs each are the nearest 24, and exact. With one group in four 10 % too
// fast, four of five runs are within log(1.1) of the median 0; with four in seven, log(1.1) is the
// median, and four of five are within as much.
TEST_CASE("far runs say what all runs say, each group counted once") {
  RunKind far = a_kind();
  far.stack = "unfused";
  far.gpu = "v100-sxm2-32gb";
  ValidatedRuns all;
  all.width = {2, 4};
  for (const char* group : {"a", "b", "c"})
    for (const ValidatedRun& run : runs(group, a_kind(), 8, 0)) all.runs.push_back(run);
  all.runs.push_back({far, "d", 1 / 1.1 - 1});
  RunKind other = a_kind();
  other.zero = 3;  // 1 apart: half of the weight
  CHECK(distance_between(a_kind(), other) == 1);
  CHECK(confidence_of(1000_ms, a_kind(), all).high.seconds() ==
        doctest::Approx(std::exp(2 * 0.0005)));
  const Confidence half = confidence_of(1000_ms, other, all);
  CHECK(half.expected == 1000_ms);
  CHECK(half.high.seconds() == doctest::Approx(1.1 * std::exp(2 * 0.0005)));
  CHECK(half.low.seconds() == doctest::Approx(1 / 1.1 * std::exp(-2 * 0.0005)));
  for (const char* group : {"e", "f", "g"}) all.runs.push_back({far, group, 1 / 1.1 - 1});
  CHECK(confidence_of(1000_ms, a_kind(), all).expected == 1000_ms);
  CHECK(confidence_of(1000_ms, other, all).expected.seconds() == doctest::Approx(std::sqrt(1.1)));
}

TEST_CASE("outside what was validated the interval is wider and has no probability") {
  const ValidatedRuns exact{runs("g", a_kind(), 8, 0), {2, 4}};
  RunKind other = a_kind();
  other.precision = "fp8";  // 0.5 apart
  const Confidence of = confidence_of(1000_ms, other, exact);
  CHECK(of.extrapolated());
  CHECK_FALSE(of.share.has_value());
  CHECK(of.high.seconds() == doctest::Approx(std::exp(4 * 0.0005)));
}

// Nine groups of one run each, exact but one that is 10 % too fast: left out, the eight others say
// 1 with the least spread. Of nine, 0.8 * 10 / 9 = 0.89 are in with eight: no width is needed. Of
// four, 0.8 * 5 / 4 is all of them, also the one.
TEST_CASE("the width holds so many left-out groups that a new one is in with 80 %") {
  const auto with = [](int exact) {
    std::vector<ValidatedRun> all = runs("off", a_kind(), 1, 1 / 1.1 - 1);
    for (int i = 0; i < exact; ++i) all.push_back({a_kind(), std::to_string(i), 0});
    return all;
  };
  CHECK(interval_width(with(8)).inside == doctest::Approx(0).epsilon(1e-9));
  CHECK(interval_width(with(3)).inside == doctest::Approx(std::log(1.1) / 0.0005));
  CHECK(interval_width(with(3)).outside >= interval_width(with(3)).inside);
}

TEST_CASE("a group counts once, whatever its number of runs") {
  std::vector<ValidatedRun> all;
  for (const char* group : {"a", "b", "c", "d", "e", "f", "g", "h"})
    all.push_back({a_kind(), group, 0});
  for (const ValidatedRun& run : runs("many", a_kind(), 6, 1 / 1.1 - 1)) all.push_back(run);
  CHECK(interval_width(all).inside == doctest::Approx(0).epsilon(1e-9));
}

TEST_CASE("models and sequences smaller than all validated ones by a quarter are outside") {
  RunKind validated = a_kind();
  validated.parameters = 1e9;
  validated.sequence = 1024;
  const ValidatedRuns checked{runs("g", validated, 10, 0), {}};
  RunKind kind = validated;
  kind.parameters = 0.81e9;
  CHECK_FALSE(confidence_of(1000_ms, kind, checked).extrapolated());
  kind.parameters = 0.79e9;
  kind.sequence = 128;
  const Confidence of = confidence_of(1000_ms, kind, checked);
  REQUIRE(of.outside.size() == 2);
  CHECK(of.outside[0].value == "790000000");
  CHECK(of.outside[0].checked == "from 1 billion on");
  CHECK(of.outside[1].checked == "from 1024 on");
}

TEST_CASE("what no validated run has is reported") {
  const ValidatedRuns checked{runs("g", a_kind(), 10, 0), {}};
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

namespace {

RunKind on_nics(const std::string& gpu, const std::string& fabric, double gbps) {
  RunKind out = a_kind();
  out.gpu = gpu;
  out.gpus_per_node = 8;
  out.nic_gbps_per_gpu = gbps;
  out.features = {{"fabric", fabric}};
  return out;
}

/// A100 over RoCE and InfiniBand with 50 to 200 Gb/s, H100 over InfiniBand with 100 to 400.
ValidatedRuns of_two_families() {
  ValidatedRuns out{{}, {1, 2}};
  for (const RunKind& kind :
       {on_nics("a100-sxm4-80gb", "roce", 50), on_nics("a100-sxm4-40gb", "infiniband", 200),
        on_nics("h100-sxm5-80gb", "infiniband", 100),
        on_nics("h100-sxm5-96gb-500w", "infiniband", 400)})
    for (const ValidatedRun& run : runs("g", kind, 8, 0)) out.runs.push_back(run);
  return out;
}

std::vector<ExtrapolatedProperty> outside_of(const RunKind& kind) {
  return confidence_of(1000_ms, kind, of_two_families()).outside;
}

}  // namespace

TEST_CASE("a fabric is compared with runs of the same family of GPUs") {
  CHECK(outside_of(on_nics("a100-sxm4-80gb", "roce", 200)).empty());
  CHECK(outside_of(on_nics("h100-sxm5-80gb", "infiniband", 200)).empty());
  const auto outside = outside_of(on_nics("h100-sxm5-80gb", "roce", 200));
  REQUIRE(outside.size() == 1);
  CHECK(outside[0].property == "fabric");
  CHECK(outside[0].value == "roce");
  CHECK(outside[0].checked == "infiniband with h100");
  // Without a run of that family all are looked at: the GPU itself is what is new.
  const auto of_b200 = outside_of(on_nics("b200-sxm-180gb", "roce", 400));
  REQUIRE(of_b200.size() == 1);
  CHECK(of_b200[0].property == "GPU");
}

// A quarter beyond the range is still inside: 40 to 250 Gb/s of A100, 80 to 500 of H100.
TEST_CASE("NIC bandwidth per GPU has a range for each family of GPUs") {
  CHECK(outside_of(on_nics("a100-sxm4-80gb", "roce", 41)).empty());
  CHECK(outside_of(on_nics("h100-sxm5-80gb", "infiniband", 81)).empty());
  const auto slow = outside_of(on_nics("h100-sxm5-80gb", "infiniband", 1.25));
  REQUIRE(slow.size() == 1);
  CHECK(slow[0].property == "NIC bandwidth per GPU");
  CHECK(slow[0].value == "1.25 Gb/s");
  CHECK(slow[0].checked == "from 100 Gb/s on with h100");
  const auto fast = outside_of(on_nics("a100-sxm4-80gb", "roce", 400));
  REQUIRE(fast.size() == 1);
  CHECK(fast[0].checked == "up to 200 Gb/s with a100");
}

TEST_CASE("nodes have as many GPUs as validated ones, and a run of one node at most those") {
  RunKind kind = on_nics("h100-sxm5-80gb", "infiniband", 400);
  for (const int count : {4, 16}) {
    kind.gpus_per_node = count;
    const auto outside = outside_of(kind);
    REQUIRE(outside.size() == 1);
    CHECK(outside[0].property == "GPUs per node");
    CHECK(outside[0].checked == (count == 4 ? "from 8 on with h100" : "up to 8 with h100"));
  }
  RunKind alone = kind;
  alone.nodes = 1;
  alone.features.clear();
  alone.nic_gbps_per_gpu = 0;
  alone.gpus_per_node = 2;
  CHECK(outside_of(alone).empty());
}

// All dense runs are exact. Two of experts took 1 / 0.8 = 1.25 times the simulated time, a few: the
// interval holds them although the nearest runs are dense ones. From eight on they count as others.
TEST_CASE("the few runs of a model are in its interval, which has no probability") {
  RunKind experts = a_kind();
  experts.model = "mixture of experts";
  ValidatedRuns all;
  all.width = {1, 2};
  for (const char* group : {"a", "b", "c"})
    for (const ValidatedRun& run : runs(group, a_kind(), 8, 0)) all.runs.push_back(run);
  for (const ValidatedRun& run : runs("d", experts, 2, -0.2)) all.runs.push_back(run);
  const Confidence few = confidence_of(1000_ms, experts, all);
  REQUIRE(few.outside.size() == 1);
  CHECK(few.outside[0].property == "model");
  CHECK(few.outside[0].checked == "2 runs of 1 source");
  CHECK_FALSE(few.share.has_value());
  CHECK(few.high >= 1250_ms);
  CHECK_FALSE(confidence_of(1000_ms, a_kind(), all).extrapolated());
  CHECK(confidence_of(1000_ms, a_kind(), all).high < 1100_ms);
  for (const ValidatedRun& run : runs("d", experts, 6, -0.2)) all.runs.push_back(run);
  CHECK_FALSE(confidence_of(1000_ms, experts, all).extrapolated());
}

// Peaks of nine of ten rows were measured at most 1/0.9 - 1 = 11.1 % above the simulated ones.
TEST_CASE("the memory margin covers nine of ten validated peaks") {
  const std::vector<double> errors{-0.5, -0.1, -0.1, -0.1, -0.1, 0, 0, 0, 0.2, 0.3};
  CHECK(memory_margin(errors) == doctest::Approx(1 / 0.9 - 1));
  CHECK(memory_margin({}) == 0);
  CHECK(memory_margin({0.1, 0.2}) == 0);  // simulated too high: no margin is needed
}

// Nine groups whose runs were simulated exactly, and one a tenth too fast. Without it, the width
// that is chosen is that of exact groups, and its own run lies outside. For each of the others, the
// interval and the width come from eight exact groups and the one: 0.8 * 10 / 9 of nine is eight.
TEST_CASE("a group is left out of the interval and of the choice of its width") {
  const auto row = [](const std::string& group, double simulated) {
    Comparison out;
    out.group = group;
    out.measured = 1;
    out.simulated = simulated;
    out.kind = a_kind();
    return out;
  };
  std::vector<Comparison> rows{row("off", 0.9)};
  for (const char* group : {"a", "b", "c", "d", "e", "f", "g", "h", "i"})
    rows.push_back(row(group, 1));
  CHECK(coverage_by_others(std::span{rows}.first(2)).empty());
  const auto found = coverage_by_others(rows);
  REQUIRE(found.size() == 10);
  CHECK(found.back().group == "off");
  CHECK(found.back().inside == 0);
  for (std::size_t i = 0; i < 9; ++i) CHECK(found[i].share() == 1);
}

}  // namespace lockstep
