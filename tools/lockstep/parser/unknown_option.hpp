#pragma once

#include <optional>
#include <string>

namespace lockstep::cli {

/// What to write instead of an option that a command does not have but that users of it expect:
/// "--set parallel.tp=4" for `run --tp 4`. `value` is the text behind the option, empty if unknown.
/// Nothing for any other option.
[[nodiscard]] std::optional<std::string> option_instead(const std::string& command,
                                                        const std::string& option,
                                                        const std::string& value);

}  // namespace lockstep::cli
