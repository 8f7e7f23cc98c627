#pragma once

#include <optional>
#include <string>

#include "tools/lockstep/collective/collective_question.hpp"
#include "tools/lockstep/collective/contestants_option.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

struct AgainstQuestion {
  std::string file;  // as nccl-tests or rccl-tests printed it, text or JSON
  ContestantOptions contestants;
  bool cluster_is_given = false;  // else the file has to tell what it was measured on
  std::optional<int> root{};      // where it is given
};

/// Simulates what a file says was measured and puts both beside one another. Sizes and types are
/// the file's; so are the collective and the number of ranks where the question leaves them open.
/// Throws ConfigError, and UsageError where the file and the question do not go together.
[[nodiscard]] Report run_against(const AgainstQuestion& against, CollectiveQuestion question);

}  // namespace lockstep::cli
