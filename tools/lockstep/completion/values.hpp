#pragma once

#include <string>
#include <vector>

#include "tools/lockstep/completion/candidates.hpp"
#include "tools/lockstep/parser/command_info.hpp"

namespace lockstep::cli {

/// What a value may be: names from the registries and the folder of the configs, choices from a
/// type such as "auto|off", files. Empty if there is nothing to choose from, such as for numbers.
/// `arguments` are the positional arguments before it: the algorithms are those of the collective.
[[nodiscard]] Completions values_of(const OptionInfo& option,
                                    const std::vector<std::string>& arguments);

}  // namespace lockstep::cli
