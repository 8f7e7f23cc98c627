#include "strategies/measure/validation/comparison.hpp"

#include <algorithm>
#include <array>

namespace lockstep {

namespace {

struct QuantityWords {
  std::string_view name;
  std::string_view unit;
};

constexpr std::array<QuantityWords, kComparedQuantities> kWords{{{"step_time", "s"},
                                                                 {"layer_forward", "s"},
                                                                 {"layer_backward", "s"},
                                                                 {"peak_memory", "B"},
                                                                 {"collective_time", "s"},
                                                                 {"bus_bandwidth", "B/s"},
                                                                 {"gemm_time", "s"},
                                                                 {"gemm_rate", "FLOP/s"},
                                                                 {"attention_time", "s"},
                                                                 {"memory_rate", "B/s"},
                                                                 {"launch_time", "s"},
                                                                 {"kernel_time", "s"}}};

}  // namespace

std::string_view to_string(ComparedQuantity quantity) {
  return kWords.at(static_cast<std::size_t>(quantity)).name;
}

std::optional<ComparedQuantity> parse_compared_quantity(std::string_view text) {
  const auto found = std::find_if(kWords.begin(), kWords.end(), [text](const QuantityWords& words) {
    return words.name == text;
  });
  if (found == kWords.end()) return std::nullopt;
  return static_cast<ComparedQuantity>(found - kWords.begin());
}

std::string_view unit_of(ComparedQuantity quantity) {
  return kWords.at(static_cast<std::size_t>(quantity)).unit;
}

}  // namespace lockstep
