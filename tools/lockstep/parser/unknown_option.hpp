#pragma once

#include <optional>
#include <string>

namespace lockstep::cli {

/// Suggestion for an option that a command lacks but users expect: "--set parallel.tp=4" for `run
/// --tp 4`. `value` is the word after the option, empty if unknown. Empty for any other option.
[[nodiscard]] std::optional<std::string> option_instead(const std::string& command,
                                                        const std::string& option,
                                                        const std::string& value);

/// Why a command needs no such option: those of nccl-tests that a simulation has no use for.
[[nodiscard]] std::optional<std::string> option_reason(const std::string& command,
                                                       const std::string& option);

}  // namespace lockstep::cli
