#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

/// The version of NCCL's tuning (configs/nccl) of a table, recognized by its stated library and
/// source, never by the resulting error.
struct LibraryRule {
  std::string_view when;  // condition, in words
  std::string_view nccl;  // id in configs/nccl
  std::string_view reason;
  bool (*matches)(const CollectiveTable& table);
};

/// Tried in this order; the last one always matches.
[[nodiscard]] const std::vector<LibraryRule>& library_rules();

/// The version of the first rule that matches.
[[nodiscard]] std::string nccl_version_of(const CollectiveTable& table);

}  // namespace lockstep
