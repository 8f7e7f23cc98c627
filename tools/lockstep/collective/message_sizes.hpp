#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

/// Message sizes as written: a list, or a range.
struct MessageSizes {
  std::vector<std::string> list;
  std::string least;  // empty, as the next: not given
  std::string most;
  std::optional<std::int64_t> factor;
  std::string step;

  [[nodiscard]] bool any() const {
    return !list.empty() || !least.empty() || !most.empty() || factor || !step.empty();
  }
};
void add_size_options(const Command& command, const std::shared_ptr<MessageSizes>& given);

/// `crossover`: the range in which the fastest algorithm is looked for. Throws UsageError.
[[nodiscard]] std::vector<Bytes> sizes_of(const MessageSizes& given, bool crossover);

}  // namespace lockstep::cli
