#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/nccl/cost/names.hpp"

/// What a user allows NCCL to choose from, written as in its environment variables.
namespace lockstep {

enum class NcclWish : std::uint8_t { by_default, wanted, refused };

/// Wishes per collective; those that NCCL does not choose for keep the default.
struct NcclFilter {
  NcclTable<NcclAlgorithm, NcclWish> algorithms;
  NcclTable<NcclProtocol, NcclWish> protocols;
};
class NcclFilters {
 public:
  [[nodiscard]] const NcclFilter& operator[](Collective collective) const {
    return filters_[static_cast<std::size_t>(collective)];
  }
  [[nodiscard]] NcclFilter& operator[](Collective collective) {
    return filters_[static_cast<std::size_t>(collective)];
  }

 private:
  std::array<NcclFilter, kCollectiveNames.size()> filters_{};
};

/// Whether NCCL weighs algorithms for this collective; the others are grouped sends and receives.
[[nodiscard]] bool nccl_chooses(Collective collective);

struct NcclChoiceError {
  std::string variable;      // NCCL_ALGO or NCCL_PROTO
  std::size_t position = 0;  // of the offending word, counted in characters from 0
  std::string message;
};

struct ParsedNcclFilters {
  NcclFilters filters;
  std::vector<NcclChoiceError> errors;  // all of them
};

/// Reads the values of NCCL_ALGO and NCCL_PROTO (2.24 and later); empty: everything by default.
///
///   ring,tree                 these alone, for every collective
///   ^nvls,nvlstree            all but these
///   ring;allreduce:^tree      ring, but of all-reduce everything except tree
///
/// Names count in any case, with or without underscores, as NCCL or as Lockstep writes them. What
/// comes later replaces what came before. `^` leaves the rest at its default: a protocol that is
/// off by default stays off.
[[nodiscard]] ParsedNcclFilters parse_nccl_filters(std::string_view algorithms,
                                                   std::string_view protocols);

}  // namespace lockstep
