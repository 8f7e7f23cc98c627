#include <fmt/format.h>

#include <cmath>
#include <map>

#include "sim/execute/host/program/execute_program.hpp"

namespace lockstep {

std::string WeightDifference::text() const {
  std::string out = fmt::format("{} of {} ({}) at position {} on rank {}, element {}", value,
                                where.name, where.copy, where.position, where.rank, index);
  for (const std::string& name : missing) out += fmt::format("; {} is not all there", name);
  return out;
}

WeightDifference largest_difference(ProgramExecution& execution, ProgramExecution& reference) {
  using Key = std::pair<std::string, int>;
  std::map<Key, HeldWeight> whole;
  for (const HeldWeight& weight : reference.weights()) {
    if (weight.copy == weight.name) whole.emplace(Key{weight.name, weight.position}, weight);
  }
  std::map<Key, std::vector<bool>> seen;
  for (const auto& [key, weight] : whole) seen[key].resize(weight.values->size());
  WeightDifference out;
  out.value = -1;
  for (const HeldWeight& weight : execution.weights()) {
    const Key key{weight.name, weight.position};
    const auto found = whole.find(key);
    if (found == whole.end()) {
      throw ExecutionError{
          fmt::format("nothing to compare {} at position {} with", weight.name, weight.position)};
    }
    const std::vector<std::int64_t> places = weight.layout->global_indices();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      const auto place = static_cast<std::size_t>(places[i]);
      seen[key].at(place) = true;
      const double apart = std::abs((*weight.values)[i] - (*found->second.values)[place]);
      if (!(apart <= out.value)) {
        out.value = std::isnan(apart) ? INFINITY : apart;
        out.where = weight;
        out.index = places[i];
      }
    }
  }
  for (const auto& [key, elements] : seen) {
    for (const bool element : elements) {
      if (element) continue;
      out.missing.push_back(fmt::format("{} at position {}", key.first, key.second));
      break;
    }
  }
  return out;
}

}  // namespace lockstep
