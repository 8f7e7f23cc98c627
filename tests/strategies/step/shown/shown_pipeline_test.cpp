#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/trace/passes.hpp"
#include "tests/strategies/step/shown/shown_scenario.hpp"

/// Pipelines side by side: p stages, m microbatches, v chunks a stage. Times of one microbatch on
/// one stage: tF forward, tB the gradient of the input, tW that of the weights.
namespace lockstep::test {
namespace {

constexpr int kP = 4;
constexpr int kM = 16;

/// What a stage computes in a step.
struct Work {
  double forward = 0;
  double input = 0;   // backward, but for the weights
  double weight = 0;  // backward: what writes gradients of weights

  [[nodiscard]] double total() const { return forward + input + weight; }
};

[[nodiscard]] bool of_weights(const RoleProgram& role, const RoleOperation& operation) {
  return std::all_of(operation.writes.begin(), operation.writes.end(), [&](std::uint32_t instance) {
    return role.tensor(instance).category == Category::gradient;
  });
}

[[nodiscard]] Work work_of(const Shown& shown, std::size_t stage) {
  const RankTimeline& rank = shown.timeline().ranks.at(stage);
  const RoleProgram& role = shown.timeline().roles.at(rank.role);
  Work out;
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    const double time = (rank.operations[i].end - rank.operations[i].start).seconds();
    if (operation.purpose == Purpose::forward) out.forward += time;
    if (operation.purpose != Purpose::backward) continue;
    (of_weights(role, role.operations[i]) ? out.weight : out.input) += time;
  }
  return out;
}

/// Idle time of a stage from the start of its first forward pass to the end of its last backward
/// one.
[[nodiscard]] double idle_between_s(const Shown& shown, std::size_t stage = 1) {
  const RankTimeline& rank = shown.timeline().ranks.at(stage);
  const RoleProgram& role = shown.timeline().roles.at(rank.role);
  double first = shown.step_s();
  double last = 0;
  for (std::size_t i = 0; i < role.operations.size(); ++i) {
    const Purpose purpose = role.operations[i].operation->purpose;
    if (purpose != Purpose::forward && purpose != Purpose::backward) continue;
    first = std::min(first, rank.operations[i].start.since_start().seconds());
    last = std::max(last, rank.operations[i].end.since_start().seconds());
  }
  return last - first - work_of(shown, stage).total();
}

/// Of an inner stage: no embedding, no loss.
[[nodiscard]] Work work_of(const Shown& shown) {
  return work_of(shown, 1);
}

[[nodiscard]] double bubble_s(const Shown& shown, std::size_t stage = 1) {
  return shown.summary().stages.at(stage).rank.bubble.seconds();
}

/// By how much a bubble may differ from its formula, which knows of no communication and of no
/// embedding and loss: all that stages send, and what the busiest computes more than the idlest.
[[nodiscard]] double allowance(const Shown& shown) {
  double sent = 0;
  double most = 0;
  double least = shown.step_s();
  for (std::size_t stage = 0; stage < kP; ++stage) {
    sent += shown.summary().stages[stage].rank.exposed_total().seconds();
    most = std::max(most, work_of(shown, stage).total());
    least = std::min(least, work_of(shown, stage).total());
  }
  return sent + (most - least);
}

/// Microbatches of which a stage holds what the first GEMM of the MLP gave, at its peak.
[[nodiscard]] std::int64_t microbatches_held(const Shown& shown, std::size_t stage) {
  const MemoryPeak peak = shown.memory(stage).device.peak;
  for (const HeldTensor& held : peak.tensors) {
    if (shown.program().tensors[held.tensor].name == "mlp.up") return held.instances;
  }
  return 0;
}

constexpr int kLayersOfStage = 8;

}  // namespace

TEST_CASE("pipeline-naive: one GPU is busy at a time: a bubble of p - 1") {
  const Shown shown("pipeline-naive");
  const double ideal = work_of(shown).total();
  CHECK(within(bubble_s(shown), (kP - 1) * ideal, allowance(shown) / ((kP - 1) * ideal)));
}

TEST_CASE("pipeline-gpipe, pipeline-1f1b: a bubble of (p-1)/m of the ideal time") {
  for (const char* name : {"pipeline-gpipe", "pipeline-1f1b"}) {
    CAPTURE(name);
    const Shown shown(name);
    const double formula = work_of(shown).total() * (kP - 1) / kM;
    CHECK(within(bubble_s(shown), formula, allowance(shown) / formula));
    CHECK(within(bubble_s(shown), formula, 0.05));
  }
}

TEST_CASE("pipeline-interleaved: a bubble of (p-1)/(v m)") {
  const Shown shown("pipeline-interleaved");
  CHECK(shown.scenario().parallel.vpp == 2);
  const double formula = work_of(shown).total() * (kP - 1) / (2 * kM);
  CHECK(within(bubble_s(shown), formula, allowance(shown) / formula));
  // Messages that hide slow down what is computed beside them, most on the last stage, for which
  // the others wait.
  CHECK(within(bubble_s(shown), formula, 0.25));
}

TEST_CASE("pipeline-zb: a bubble of (p-1)(tF+tB-tW)") {
  // Qi et al., arXiv 2401.10241, table 2.
  const Shown shown("pipeline-zb");
  const Work work = work_of(shown);
  const double formula = (kP - 1) * (work.forward + work.input - work.weight) / kM;
  CHECK(within(bubble_s(shown), formula, allowance(shown) / formula));
}

TEST_CASE(
    "pipeline-zb: ZB-H2 idles (p-1)(tF+tB-2tW) between its passes, and in one step (p-1) tF") {
  // Qi et al. let a stage begin its next step while later ones still work on this: their bubble is
  // counted between a stage's first and last pass. One step by itself has at least (p-1) tF, for
  // the last stage begins that late and works without a pause from then on.
  const Shown shown("pipeline-zb", {"parallel.schedule=zb-h2"});
  const Work work = work_of(shown);
  const double between = (kP - 1) * (work.forward + work.input - 2 * work.weight) / kM;
  CHECK(idle_between_s(shown) < between + allowance(shown));
  CHECK(idle_between_s(shown, kP - 1) < allowance(shown));
  const double late = (kP - 1) * work.forward / kM;
  CHECK(within(bubble_s(shown), late, allowance(shown) / late));
}

TEST_CASE("pipeline-v: ZB-V and V-Half are faster than 1F1B, V-Min about as fast") {
  // With tF = tB = tW they idle a sixth, half and two thirds of 1F1B: pipeline_order_test.cpp. Here
  // tW is less, so there is less to fill gaps with, and V-Min, whose blocks leave no slack, loses
  // in every microbatch ("in practice like 1F1B": sail-sg/zero-bubble-pipeline-parallelism).
  const Shown plain("pipeline-1f1b");
  const Shown zb_v("pipeline-v");
  CHECK(zb_v.scenario().parallel.vpp == 2);
  CHECK(idle_between_s(zb_v, 0) < idle_between_s(plain, 0) / 3);
  const Shown half("pipeline-v", {"parallel.schedule=v-half"});
  CHECK(idle_between_s(half, 0) < idle_between_s(plain, 0));
  CHECK(zb_v.step_s() < Shown("pipeline-zb").step_s());
  CHECK(zb_v.step_s() < half.step_s());
  CHECK(half.step_s() < plain.step_s());
  CHECK(within(Shown("pipeline-v", {"parallel.schedule=v-min"}).step_s(), plain.step_s(), 0.1));
}

TEST_CASE("pipeline-v: held on every stage: as much as 1F1B's first, half and a third of it") {
  // In chunks of 4 layers, and the few that the blocks need: pipeline_order_test.cpp.
  const auto most = [](const std::string& schedule) {
    const Shown shown("pipeline-v", {"parallel.schedule=" + schedule});
    std::int64_t out = 0;
    for (std::size_t stage = 0; stage < kP; ++stage)
      out = std::max(out, microbatches_held(shown, stage));
    return out * 2 / kLayersOfStage;
  };
  CHECK(most("zb-v") <= 2 * kP);
  CHECK(most("v-half") <= kP + 3);
  CHECK(3 * most("v-min") <= 2 * kP + 8);
  CHECK(most("dualpipe-v") <= 2 * kP + 1);
}

TEST_CASE("pipeline-dualpipe: DualPipe idles (p/2-1)(tF+2tB-tW) and is faster than DualPipeV") {
  // dualpipe_order_test.cpp. DualPipeV idles as long with half as many stages, so longer here.
  const Shown shown("pipeline-dualpipe");
  CHECK(shown.scenario().parallel.vpp == 1);
  const Work work = work_of(shown);
  const double formula = (kP / 2 - 1) * (work.forward + 2 * work.input - work.weight) / kM;
  // The two inner stages have the same two stages of the model; so have the two outer ones.
  CHECK(work_of(shown, 1).total() == work_of(shown, 2).total());
  CHECK(work_of(shown, 0).total() == work_of(shown, 3).total());
  // Where tF and tB differ stages wait for the longer one.
  const double longer = (kP / 2 - 1) * std::abs(work.forward - work.input) / kM;
  CAPTURE(bubble_s(shown));
  CAPTURE(formula);
  CAPTURE(allowance(shown));
  CAPTURE(longer);
  CHECK(within(bubble_s(shown), formula, (allowance(shown) + longer) / formula));
  CHECK(bubble_s(shown) < bubble_s(Shown("pipeline-v", {"parallel.schedule=dualpipe-v"})));
}

TEST_CASE(
    "pipeline-dualpipe: DualPipe holds two stages' weights, and p + 1 microbatches' activations") {
  // deepseek-ai/DualPipe, README: 2x parameters, PP + 1 activations. ZeRO-1 shards optimizer states
  // over the two copies: two stages' in two parts.
  const Shown plain("pipeline-1f1b");
  const Shown shown("pipeline-dualpipe");
  for (std::size_t stage = 0; stage < kP; ++stage)
    CHECK(microbatches_held(shown, stage) <= (kP + 1) * kLayersOfStage);
  const CategoryBytes one = plain.resident(1);
  const CategoryBytes both = shown.resident(1);
  const auto bytes = [](const CategoryBytes& of, Category category) {
    return of[category].count();
  };
  CHECK(bytes(both, Category::weight) == 2 * bytes(one, Category::weight));
  CHECK(bytes(both, Category::gradient) == 2 * bytes(one, Category::gradient));
  CHECK(bytes(both, Category::optimizer_state) == bytes(one, Category::optimizer_state));
}

TEST_CASE("pipeline-dualpipe: each stage has two chunks, each with the microbatches of one end") {
  // Those of stages 1 and 2 of the model follow each other, so that only microbatches tell them
  // apart.
  const Shown shown("pipeline-dualpipe");
  for (std::size_t stage = 0; stage < kP; ++stage) {
    const RankTimeline& rank = shown.timeline().ranks.at(stage);
    std::set<std::pair<int, bool>> chunks;  // with the microbatches of the second half
    for (const Pass& pass : passes(shown.timeline().roles.at(rank.role), rank))
      if (pass.kind != Pass::Kind::update) chunks.emplace(pass.chunk, pass.microbatch >= kM / 2);
    // Earlier layers are chunk 0: the first copy's on stages 0 and 1, on others the second copy's.
    const bool second = stage >= kP / 2;
    CHECK(chunks == std::set<std::pair<int, bool>>{{0, second}, {1, !second}});
  }
}

TEST_CASE("pipelines: side by side, each is faster than the one before") {
  const std::vector<std::string> order{"pipeline-naive", "pipeline-gpipe", "pipeline-interleaved",
                                       "pipeline-zb"};
  double last = Shown(order.front()).step_s();
  for (std::size_t i = 1; i < order.size(); ++i) {
    CAPTURE(order[i]);
    const double step = Shown(order[i]).step_s();
    CHECK(step < last);
    last = step;
  }
  CHECK(Shown("pipeline-zb", {"parallel.schedule=zb-h2"}).step_s() < last);
  // GPipe and 1F1B differ in memory, not in time.
  CHECK(within(Shown("pipeline-1f1b").step_s(), Shown("pipeline-gpipe").step_s(), 0.005));
}

TEST_CASE("pipelines: GPipe holds m microbatches, 1F1B p - i on stage i, ZB-H1 no more than p") {
  const Shown gpipe("pipeline-gpipe");
  const Shown one_f_one_b("pipeline-1f1b");
  const Shown zb_h1("pipeline-zb");
  for (int stage = 0; stage < kP; ++stage) {
    CAPTURE(stage);
    const auto at = static_cast<std::size_t>(stage);
    CHECK(microbatches_held(gpipe, at) == kM * kLayersOfStage);
    CHECK(microbatches_held(one_f_one_b, at) == (kP - stage) * kLayersOfStage);
    CHECK(microbatches_held(zb_h1, at) <= kP * kLayersOfStage);
  }
}

TEST_CASE("pipelines: interleaving holds 1 + (p-1)/(p v) times as much on the first stage") {
  // p v + p - 1 = 11 chunks of 4 layers: Korthikanti et al., arXiv 2205.05198, section 4.2.
  const Shown shown("pipeline-interleaved");
  CHECK(microbatches_held(shown, 0) == (kP * 2 + kP - 1) * kLayersOfStage / 2);
}

TEST_CASE("pipelines: ZB-H2 holds up to 2p - 1 microbatches") {
  const Shown shown("pipeline-zb", {"parallel.schedule=zb-h2"});
  CHECK(microbatches_held(shown, 0) <= (2 * kP - 1) * kLayersOfStage);
  CHECK(microbatches_held(shown, 0) > kP * kLayersOfStage);
}

}  // namespace lockstep::test
