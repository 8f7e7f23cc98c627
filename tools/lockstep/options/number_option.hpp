#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// An option that takes a whole number in [least, most] and hands it to `take`; anything else is
/// refused in the words of the other options: CLI11 reads -1 as 2^64 - 1 where no sign is wanted.
Option add_whole_number(const Command& command, const std::string& names, std::uint64_t least,
                        std::uint64_t most, std::function<void(std::uint64_t)> take,
                        const std::string& description);

}  // namespace lockstep::cli
