#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "strategies/step/lowering/role_costs.hpp"

namespace lockstep {

/// What all ranks of a role have in common.
struct RoleLowering {
  RoleCosts costs;
  std::vector<StreamId> streams{};              // in order of first use
  std::vector<std::uint32_t> stream_of{};       // per operation, an index into these
  std::vector<std::uint32_t> communications{};  // operations that communicate
};
[[nodiscard]] RoleLowering lower_role(const RoleProgram& role, const KernelTimes& kernels);

/// A rank's part in a collective of its role.
struct CallOfRole {
  Duration launch{};         // before the first byte
  std::uint32_t number = 0;  // of its call in Stream::calls
  friend auto operator<=>(const CallOfRole&, const CallOfRole&) = default;
};

/// The streams of a rank, for all of its role that compute at one speed, have one load and whose
/// collectives take equally long to launch and are repeated alike.
struct RankPattern {
  double speed = 1;
  std::uint32_t load = 0;
  std::vector<std::optional<CallOfRole>> calls{};  // per collective; none: it takes no part
  std::vector<std::shared_ptr<const std::vector<Activity>>> streams{};  // as RoleLowering::streams
  std::shared_ptr<const std::vector<ActivityRef>> places{};             // per operation
};
/// Fills in `streams` and `places`. Without `messages`, sends and receives take no time.
[[nodiscard]] RankPattern write_pattern(const RoleProgram& role, const RoleLowering& lowered,
                                        const KernelTimes& kernels, RankPattern pattern,
                                        bool messages);

}  // namespace lockstep
