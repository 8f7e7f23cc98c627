#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/measure/validation/measured.hpp"

namespace lockstep {

/// Which version of NCCL's tuning (configs/nccl) a table of a collective was made with; recognized
/// by what it says of its library and by whose it is; never by the error that comes out.
struct LibraryRule {
  std::string_view when;  // in words
  std::string_view nccl;  // of configs/nccl
  std::string_view reason;
  bool (*matches)(const CollectiveTable& table);
};

/// In the order in which they are tried; the last one matches everything.
[[nodiscard]] const std::vector<LibraryRule>& library_rules();

/// The version of the first rule that matches.
[[nodiscard]] std::string nccl_version_of(const CollectiveTable& table);

}  // namespace lockstep
