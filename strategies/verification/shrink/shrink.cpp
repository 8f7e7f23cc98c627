#include "strategies/verification/shrink/shrink.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "strategies/scenario/parallel/layout_problems.hpp"
#include "strategies/sharding/device_mesh.hpp"
#include "strategies/verification/shrink/shrink_parts.hpp"

namespace lockstep {

namespace {

using shrinking::SizedLayout;

/// How much is lost by a smaller degree, or of time by a large one.
[[nodiscard]] int loss_of(int from, int to, int small = 8) {
  if (to > small) return 8;
  if (from == to) return 0;
  switch (to) {
    case 2:
      return 6;  // the next and the previous rank are one
    case 3:
      return 3;
    case 4:
      return 2;
    default:
      return 4;
  }
}

/// Every stage and chunk is a layer at least, and more stages are more microbatches.
constexpr int kStages = 4;
[[nodiscard]] int loss_of_chunks(int from, int to) {
  constexpr int kChunks = 3;
  if (to > kChunks) return 4;
  return from == to || to > 2 ? 0 : 1;
}

[[nodiscard]] int loss_of_degrees(const SizedLayout& whole, const SizedLayout& small) {
  const ParallelConfig& from = whole.parallel;
  const ParallelConfig& to = small.parallel;
  const int ulysses_from = ulysses_degree(from, whole.gpus_per_node);
  const int ulysses_to = ulysses_degree(to, small.gpus_per_node);
  return loss_of(from.tp, to.tp) + loss_of(from.pp, to.pp, kStages) + loss_of(from.dp, to.dp) +
         loss_of(ulysses_from, ulysses_to) + loss_of(from.cp / ulysses_from, to.cp / ulysses_to) +
         loss_of_chunks(from.vpp, to.vpp);
}

struct Candidate {
  SizedLayout layout{};
  int loss = 0;
  [[nodiscard]] bool operator<(const Candidate& other) const {
    if (loss != other.loss) return loss < other.loss;
    return layout.parallel.ranks() < other.layout.parallel.ranks();
  }
};

[[nodiscard]] std::vector<Candidate> candidates(const SizedLayout& whole,
                                                const ShrinkLimits& limits) {
  const shrinking::LayoutTraits form = traits_of(whole);
  std::vector<Candidate> out;
  for (SizedLayout& small : with_fewer_ranks(whole, limits)) {
    shrink_model(small, whole, limits);
    shrink_batch(small, whole, limits);
    const int loss = loss_of_degrees(whole, small) + 2 * distance(form, traits_of(small));
    out.push_back({std::move(small), loss});
  }
  std::stable_sort(out.begin(), out.end());
  return out;
}

[[nodiscard]] std::string what_stays(const ShrinkLimits& limits) {
  std::vector<std::string> out;
  for (const std::string& key : limits.kept) {
    if (key.starts_with("model.") || key.starts_with("parallel.")) out.push_back(key);
  }
  if (!limits.model) out.emplace_back("the model");
  if (!limits.degrees) out.emplace_back("the degrees");
  return out.empty() ? "" : fmt::format(" with {} as it is", fmt::join(out, ", "));
}

[[noreturn]] void refuse(const ShrinkLimits& limits, const std::string& why) {
  throw NotShrinkable{fmt::format("cannot be shrunk to {} ranks or fewer{}: {}", limits.ranks,
                                  what_stays(limits), why)};
}

/// Why there are no degrees at all.
[[nodiscard]] std::string why_none(const SizedLayout& whole, const ShrinkLimits& limits) {
  const ParallelConfig& layout = whole.parallel;
  const auto least = [&](const char* key, int degree) {
    return shrinking::stays(limits, key) ? degree : std::min(degree, 2);
  };
  const int ulysses = ulysses_degree(layout, whole.gpus_per_node);
  const int levels = std::min(ulysses, 2) * std::min(layout.cp / ulysses, 2);
  const std::array degrees{least("parallel.dp", layout.dp), least("parallel.pp", layout.pp),
                           shrinking::stays(limits, "parallel.cp") ? layout.cp : levels,
                           least("parallel.tp", layout.tp)};
  std::int64_t ranks = 1;
  for (const int degree : degrees) ranks *= degree;
  if (ranks > limits.ranks) {
    return fmt::format("dp * pp * cp * tp is {} = {} at least", fmt::join(degrees, " * "), ranks);
  }
  return fmt::format(
      "ep = {} and shard_ranks = {} stay such parts of the dp * cp = {} replicas{}", layout.ep,
      layout.shard_ranks, layout.dp * layout.cp,
      layout.expert_tp() < layout.tp
          ? fmt::format(", and etp = {} such a part of tp = {}", layout.etp, layout.tp)
          : "");
}

[[nodiscard]] std::string text_of(const LayoutProblem& problem) {
  return fmt::format("{}: {}", problem.key, problem.message);
}

}  // namespace

ShrunkLayout shrink(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node,
                    const ShrinkLimits& limits) {
  const SizedLayout whole{model, parallel, gpus_per_node};
  std::optional<std::string> why;
  for (const auto& [layout, loss] : candidates(whole, limits)) {
    const auto problems = layout_problems(layout.model, layout.parallel, layout.parallel.ranks(),
                                          layout.gpus_per_node);
    if (problems.empty()) {
      return {layout.model, layout.parallel, layout.gpus_per_node, changes_between(whole, layout)};
    }
    if (!why) why = text_of(problems.front());
  }
  refuse(limits, why ? *why : why_none(whole, limits));
}

}  // namespace lockstep
