#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/calibration/nccl_names.hpp"

/// Restrictions of NCCL's choice, in the syntax of its environment variables.
namespace lockstep {

enum class NcclRestriction : std::uint8_t { by_default, wanted, refused };

/// Restrictions per collective; unset ones keep the default.
struct NcclFilter {
  NcclTable<NcclAlgorithm, NcclRestriction> algorithms;
  NcclTable<NcclProtocol, NcclRestriction> protocols;
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

/// Whether NCCL chooses an algorithm for this collective; otherwise grouped sends and receives.
[[nodiscard]] bool nccl_chooses(Collective collective);

struct NcclChoiceError {
  std::string variable;      // NCCL_ALGO or NCCL_PROTO
  std::size_t position = 0;  // of the invalid word, in characters from 0
  std::string message;
};

struct ParsedNcclFilters {
  NcclFilters filters;
  std::vector<NcclChoiceError> errors;  // all of them
};

/// Parses NCCL_ALGO and NCCL_PROTO (2.24 and later); empty: defaults.
///   ring,tree                 only these, for every collective
///   ^nvls,nvlstree            all except these
///   ring;allreduce:^tree      ring, but for all-reduce everything except tree
/// Names are case-insensitive, with or without underscores, in NCCL's or Lockstep's spelling. Later
/// terms replace earlier ones. `^` keeps other defaults: a protocol that is off by default stays
/// off.
[[nodiscard]] ParsedNcclFilters parse_nccl_filters(std::string_view algorithms,
                                                   std::string_view protocols);

}  // namespace lockstep
