#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/completion/candidates.hpp"
#include "tools/lockstep/parser/command_info.hpp"

namespace lockstep::cli {

/// Possible values of an option: names from registries and the config folder, choices of a type
/// such as "auto|off", files. Empty for free values such as numbers. `arguments`: the preceding
/// positional arguments; algorithms are those of that collective.
[[nodiscard]] Completions values_of(const OptionInfo& option,
                                    const std::vector<std::string>& arguments);

}  // namespace lockstep::cli
