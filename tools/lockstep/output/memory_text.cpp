#include "tools/lockstep/output/memory_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/lockstep/output/set_options.hpp"

namespace lockstep::cli {

namespace {

std::string what_takes_the_room(const RankMemory& memory) {
  const CategoryBytes& held = memory.account.device.peak.held;
  std::string out;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    if (held[category].count() == 0) continue;
    out += fmt::format("\n  {:>10}  {}", to_string(held[category]), to_string(category));
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(3, memory.largest.size()); ++i)
    out += fmt::format("\n  {:>10}  of which {}", to_string(memory.largest[i].held.bytes),
                       text_of(memory.largest[i]));
  return out;
}

std::string at_least(const MemoryShortfall& shortfall) {
  return fmt::format(
      "No single change fits; weights, gradients and optimizer states, {} of the whole "
      "model, need {} GPU{} at least where all of them are sharded",
      to_string(shortfall.states), shortfall.least_gpus, shortfall.least_gpus == 1 ? "" : "s");
}

}  // namespace

std::string text_of(const PeakTensor& tensor) {
  return to_string(tensor.held, tensor.name);
}

std::string text_of(const PeakOperation& operation) {
  return fmt::format("block {} microbatch {}: {}", operation.block, operation.microbatch,
                     operation.name);
}

std::string text_of(const MemoryShortfall& shortfall) {
  std::string out = std::string{DoesNotFit{shortfall}.what()} + ":";
  out += what_takes_the_room(shortfall.memory);
  const auto& changes = shortfall.changes;
  for (std::size_t i = 0; i < changes.size(); ++i)
    out += fmt::format("\n{} {} ({})", i == 0 ? "smallest change that fits:" : "or",
                       set_options(changes[i].change), to_string(changes[i].needed));
  if (changes.empty()) out += "\n" + at_least(shortfall);
  return out + "\nUse --ignore-memory to simulate anyway";
}

}  // namespace lockstep::cli
