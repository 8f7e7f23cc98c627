#include "strategies/sharding/experts/expert_copies.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/check.hpp"
#include "strategies/layout/passes.hpp"

namespace lockstep {

namespace {

/// C(of - without, k) / C(of, k): that none of k draws hits one of `without`.
[[nodiscard]] double missed(std::int64_t of, std::int64_t without, std::int64_t k) {
  double out = 1;
  for (std::int64_t i = 0; i < k; ++i)
    out *= static_cast<double>(std::max<std::int64_t>(0, of - without - i)) /
           static_cast<double>(of - i);
  return out;
}

/// Ways to choose groups of which a unit has some experts: by how many are chosen, and by how many
/// experts of the unit they have together, each as a share of all ways to choose as many groups.
class Choices {
 public:
  Choices(std::int64_t groups, std::int64_t chosen, std::int64_t experts)
      : left_{groups},
        experts_{experts},
        ways_(static_cast<std::size_t>((chosen + 1) * (experts + 1))) {
    at(0, 0) = 1;
    chosen_ = chosen;
  }

  /// The next group: it is chosen with the share of groups that are still to be chosen.
  void add(std::int64_t of_unit) {
    for (std::int64_t taken = chosen_; taken >= 0; --taken) {
      for (std::int64_t with = experts_; with >= 0; --with) {
        double& here = at(taken, with);
        const double is_chosen = static_cast<double>(chosen_ - taken) / static_cast<double>(left_);
        const double moves = here * is_chosen;
        here -= moves;
        if (moves > 0) at(taken + 1, with + of_unit) += moves;
      }
    }
    --left_;
  }

  /// Shares by experts of the unit, all groups having been added.
  [[nodiscard]] double share(std::int64_t with) { return at(chosen_, with); }

 private:
  [[nodiscard]] double& at(std::int64_t taken, std::int64_t with) {
    return ways_[static_cast<std::size_t>(taken * (experts_ + 1) + with)];
  }

  std::int64_t left_;
  std::int64_t chosen_ = 0;
  std::int64_t experts_;
  std::vector<double> ways_;
};

/// Of the experts [first, last), those of a group.
[[nodiscard]] std::int64_t common_experts(std::int64_t first, std::int64_t last, std::int64_t group,
                                          std::int64_t size) {
  const std::int64_t begin = std::max(first, group * size);
  const std::int64_t end = std::min(last, (group + 1) * size);
  return std::max<std::int64_t>(0, end - begin);
}

}  // namespace

double share_of_tokens(const TokenCopies& copies, int units) {
  LOCKSTEP_CHECK(units > 0 && copies.experts % units == 0 && copies.experts % copies.groups == 0);
  const std::int64_t size = copies.experts / copies.groups;
  const std::int64_t of_unit = copies.experts / units;
  double sum = 0;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    Choices choices{copies.groups, copies.group_top_k, of_unit};
    for (std::int64_t group = 0; group < copies.groups; ++group)
      choices.add(common_experts(unit * of_unit, (unit + 1) * of_unit, group, size));
    for (std::int64_t with = 0; with <= of_unit; ++with)
      sum += choices.share(with) * (1 - missed(copies.group_top_k * size, with, copies.top_k));
  }
  return sum / units;
}

void deduplicate_tokens(TrainingStepAssembly& step) {
  const ExpertsConfig& experts = *step.model.transformer()->experts;
  constexpr double kScales = 1 + 4.0 / 128;  // fp8: 4 bytes for 128 numbers (DeepEP low-precision
                                             // dispatch, x = (fp8, scales))
  for (Block& block : step.graph.blocks) {
    for (auto* operations : {&block.forward, &block.backward}) {
      for (Operation& operation : *operations) {
        if (!operation.communication) continue;
        Communication& how = *operation.communication;
        if (how.group != "ep" || how.collective != Collective::all_to_all) continue;
        const Tensor& slots = step.graph.tensors[operation.reads.front().tensor];
        how.rides = find_extent(slots, Dim::hidden) == nullptr;  // the router's weights
        if (how.rides) continue;
        how.copies = TokenCopies{.experts = experts.experts,
                                 .top_k = experts.top_k,
                                 .groups = experts.groups,
                                 .group_top_k = experts.group_top_k,
                                 .widening = slots.dtype == Dtype::fp8 ? kScales : 1,
                                 .returns = how.joined == Dim::expert,
                                 .multiprocessors = step.parallel.dispatch_sms};
      }
    }
  }
}

}  // namespace lockstep
