#include "strategies/step/lowering/call_order.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep {

void CallOrder::note(std::uint32_t call, std::size_t role, std::size_t operation) {
  const std::pair of{role, operation};
  if (call == first_.size()) {
    first_.push_back(of);
  } else {
    first_[call] = std::min(first_[call], of);
  }
}

std::vector<std::uint32_t> CallOrder::apply(std::vector<CollectiveCall>& calls) const {
  std::vector<std::uint32_t> sorted(first_.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return first_[a] < first_[b]; });
  std::vector<std::uint32_t> place(sorted.size());
  std::vector<CollectiveCall> out;
  out.reserve(calls.size());
  for (const std::uint32_t call : sorted) {
    place[call] = static_cast<std::uint32_t>(out.size());
    out.push_back(std::move(calls[call]));
  }
  calls = std::move(out);
  return place;
}

}  // namespace lockstep
