#pragma once

#include <string>
#include <string_view>

#include "strategies/interop/nccl_tests/nccl_tests.hpp"

namespace lockstep {

/// Reads JSON output (`-J`) of one run. Unused keys are ignored.
[[nodiscard]] NcclRun parse_nccl_tests_json(std::string_view text, const std::string& file);

}  // namespace lockstep
