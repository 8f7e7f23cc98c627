#pragma once

#include <string>
#include <string_view>

#include "strategies/interop/nccl_tests/nccl_tests.hpp"

namespace lockstep {

/// The JSON form (`-J`), one run. Keys that are not wanted are ignored.
[[nodiscard]] NcclRun parse_nccl_tests_json(std::string_view text, const std::string& file);

}  // namespace lockstep
