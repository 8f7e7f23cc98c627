#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/app/plan/setting.hpp"

namespace lockstep::app {

/// Validity rules. None drops a point that could win: each drops invalid points, duplicates of an
/// earlier point, or points outside the stated space.
enum class PlanRule : std::uint8_t {
  gpus,           // tp * pp * cp divides the GPUs
  nvlink_domain,  // tp within the GPUs that NVLink joins
  heads,          // tp divides heads and the MLP
  sequence,       // cp divides the sequence
  experts,        // etp divides tp, ep the experts, etp * ep divides tp * cp * dp
  batch,          // micro_batch * dp divides the global batch
  layers,         // pp * vpp divides the layers
  schedule,       // the schedule supports these stages, chunks, microbatches and pairs
  shards,         // shard_ranks divides dp * cp
  stack,          // the software stack supports the layout
  duplicate,      // the same step as an earlier point
  size,           // too many operations to simulate
};
inline constexpr std::size_t kPlanRules = static_cast<std::size_t>(PlanRule::size) + 1;
[[nodiscard]] std::string_view to_string(PlanRule rule);
/// "tp * pp * cp divides the GPUs".
[[nodiscard]] std::string_view words_of(PlanRule rule);

using RuleCounts = std::array<std::uint64_t, kPlanRules>;

/// Per layout key, indices of values; empty: all.
using LayoutDigits = std::array<std::vector<std::size_t>, kLayoutKeys>;

/// Values for a first look at a large space: of keys that refine a layout those of the scenario, or
/// the usual ones, and full recomputation; of others all.
[[nodiscard]] LayoutDigits first_look(const PlanSpace& space);

struct WalkOptions {
  bool nvlink_domain = true;  // whether the rule is enforced
  LayoutDigits only{};        // values that are visited; points of others are not counted
};

/// Points [begin, end).
struct PointRange {
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;

  /// Number of points of [first, first + count) inside the range.
  [[nodiscard]] std::uint64_t overlap(std::uint64_t first, std::uint64_t count) const {
    const std::uint64_t from = first > begin ? first : begin;
    const std::uint64_t to = first + count < end ? first + count : end;
    return to > from ? to - from : 0;
  }
};

/// A valid layout.
struct WalkedLayout {
  std::uint64_t index = 0;  // in the whole space
  const ParallelConfig* parallel = nullptr;
  const std::string* stack = nullptr;
};

/// Enumerates the points of one setting with given first digits (tp and pp) in index order.
/// Subtrees that a rule drops entirely are skipped and counted.
class LayoutWalk {
 public:
  using Take = std::function<void(const WalkedLayout&)>;

  LayoutWalk(const PlanSpace& space, const PlanSetting& setting, SettingBounds& bounds,
             const WalkOptions& options);

  /// `tp_digit`, `pp_digit`: indices in the axes. Points outside `range` are ignored.
  void run(std::size_t tp_digit, std::size_t pp_digit, PointRange range, const Take& take,
           RuleCounts& dropped);

  /// The layout of a point of this setting, or the rule that drops it.
  [[nodiscard]] std::variant<ParallelConfig, PlanRule> at(std::uint64_t index);
  /// Software stack of the layout last returned by at().
  [[nodiscard]] const std::string& stack() const { return defaults_->stack; }

 private:
  void descend(std::size_t level, std::uint64_t index);
  void drop(PlanRule rule, std::uint64_t first, std::uint64_t count);
  void visit(std::uint64_t index);
  [[nodiscard]] std::optional<PlanRule> set(LayoutKey key, std::int64_t number, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_stages(std::int64_t pp);
  [[nodiscard]] std::optional<PlanRule> set_tensor(std::int64_t tp);
  [[nodiscard]] std::optional<PlanRule> set_context(std::int64_t cp);
  [[nodiscard]] std::optional<PlanRule> set_expert_tensor(std::int64_t etp);
  [[nodiscard]] std::optional<PlanRule> set_experts(std::int64_t ep);
  [[nodiscard]] std::optional<PlanRule> set_context_kind(ContextKind kind, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_microbatch(std::int64_t sequences);
  [[nodiscard]] std::optional<PlanRule> set_chunks(std::int64_t vpp);
  [[nodiscard]] std::optional<PlanRule> set_edges(bool is_short, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_zero(std::int64_t zero, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_shards(std::int64_t shards, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_recomputation(Recompute how, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_schedule(PipelineOrder order, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_overlap(std::int64_t mask, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_delay(bool delays, std::size_t digit);
  [[nodiscard]] std::optional<PlanRule> set_order(std::int64_t number, std::size_t digit);
  [[nodiscard]] std::int64_t useful_overlap(std::int64_t mask) const;
  [[nodiscard]] std::optional<PlanRule> only_first(bool matters, std::size_t digit) const;
  [[nodiscard]] std::int64_t layers() const;

  const PlanSpace& space_;
  const PlanSetting& setting_;
  SettingBounds& bounds_;
  WalkOptions options_;
  std::array<std::uint64_t, kLayoutKeys + 1> below_{};  // points under a digit of each level
  std::uint64_t base_ = 0;                              // index of the setting's first point
  ParallelConfig parallel_;                             // digits decided so far
  std::vector<std::vector<std::string>> orders_;        // of each value of its axis
  std::vector<std::set<Overlap>> overlaps_;             // of each mask
  const LayoutDefaults* defaults_ = nullptr;
  PointRange range_;
  const Take* take_ = nullptr;
  RuleCounts* dropped_ = nullptr;
};

}  // namespace lockstep::app
