#pragma once

#include <array>
#include <string_view>

namespace lockstep::cli {

/// A shell and the script that makes it complete the words of `lockstep`. The scripts ask the
/// program itself, `lockstep __complete WORD...`, and so know its options, its registries and the
/// configs in use.
struct CompletionScript {
  std::string_view shell;
  std::string_view text;
};

[[nodiscard]] const std::array<CompletionScript, 3>& completion_scripts();

}  // namespace lockstep::cli
