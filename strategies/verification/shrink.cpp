#include "strategies/verification/shrink.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "strategies/parallel/device_mesh.hpp"
#include "strategies/training/build_program.hpp"
#include "strategies/verification/shrink_parts.hpp"

namespace lockstep {

namespace {

using shrinking::SizedPlan;

/// How much is lost, in halves: few ranks are a special case of many, but many take their time.
[[nodiscard]] int loss_of(int from, int to) {
  if (from == to) return 0;
  switch (to) {
    case 2:
      return 6;  // next and previous are one
    case 3:
      return 3;
    case 4:
      return 2;
    default:
      return 4;
  }
}

[[nodiscard]] int loss_of_degrees(const SizedPlan& whole, const SizedPlan& small) {
  const ParallelConfig& from = whole.parallel;
  const ParallelConfig& to = small.parallel;
  const int ulysses_from = ulysses_degree(from, whole.gpus_per_node);
  const int ulysses_to = ulysses_degree(to, small.gpus_per_node);
  return loss_of(from.tp, to.tp) + loss_of(from.pp, to.pp) + loss_of(from.dp, to.dp) +
         loss_of(ulysses_from, ulysses_to) + loss_of(from.cp / ulysses_from, to.cp / ulysses_to) +
         loss_of(from.vpp, to.vpp) / 3;
}

struct Candidate {
  SizedPlan plan{};
  int loss = 0;
  [[nodiscard]] bool operator<(const Candidate& other) const {
    if (loss != other.loss) return loss < other.loss;
    return plan.parallel.ranks() < other.plan.parallel.ranks();
  }
};

[[nodiscard]] std::vector<Candidate> candidates(const SizedPlan& whole,
                                                const ShrinkLimits& limits) {
  const shrinking::Form form = form_of(whole);
  std::vector<Candidate> out;
  for (SizedPlan& small : with_fewer_ranks(whole, limits)) {
    shrink_model(small, whole, limits);
    shrink_batch(small, whole, limits);
    const int loss = loss_of_degrees(whole, small) + 2 * distance(form, form_of(small));
    out.push_back({std::move(small), loss});
  }
  std::stable_sort(out.begin(), out.end());
  return out;
}

[[nodiscard]] std::string what_stays(const ShrinkLimits& limits) {
  std::vector<std::string> out{limits.kept.begin(), limits.kept.end()};
  if (!limits.model) out.emplace_back("the model");
  if (!limits.degrees) out.emplace_back("the degrees");
  return out.empty() ? "" : fmt::format(" with {} as it is", fmt::join(out, ", "));
}

[[noreturn]] void refuse(const ShrinkLimits& limits, const std::string& why) {
  throw NotShrinkable{fmt::format("cannot be shrunk to {} ranks or fewer{}: {}", limits.ranks,
                                  what_stays(limits), why)};
}

[[nodiscard]] std::string text_of(const PlanProblem& problem) {
  return fmt::format("{}: {}", problem.key, problem.message);
}

}  // namespace

ShrunkPlan shrink(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node,
                  const ShrinkLimits& limits) {
  const SizedPlan whole{model, parallel, gpus_per_node};
  std::optional<std::string> why;
  for (const auto& [plan, loss] : candidates(whole, limits)) {
    const auto problems =
        plan_problems(plan.model, plan.parallel, plan.parallel.ranks(), plan.gpus_per_node);
    if (problems.empty()) {
      return {plan.model, plan.parallel, plan.gpus_per_node, changes_between(whole, plan)};
    }
    if (!why) why = text_of(problems.front());
  }
  refuse(limits, why.value_or("every degree above 1 stays above 1, and parts of the replicas (ep, "
                              "shard_ranks) stay parts of them"));
}

}  // namespace lockstep
