#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// An integer option in [least, most], passed to `take`; other values are rejected with the usual
/// wording (CLI11 reads -1 as 2^64 - 1 for unsigned types).
Option add_whole_number(const Command& command, const std::string& names, std::uint64_t least,
                        std::uint64_t most, std::function<void(std::uint64_t)> take,
                        const std::string& description);

}  // namespace lockstep::cli
