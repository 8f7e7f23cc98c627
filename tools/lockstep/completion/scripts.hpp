#pragma once

#include <array>
#include <string_view>

namespace lockstep::cli {

/// A shell and its completion script. Scripts call `lockstep __complete WORD...`, so completion
/// follows the program's options and registries and the configs in use.
struct CompletionScript {
  std::string_view shell;
  std::string_view text;
};

[[nodiscard]] const std::array<CompletionScript, 3>& completion_scripts();

}  // namespace lockstep::cli
