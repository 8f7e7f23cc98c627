#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/execute/run_program/execute_program.hpp"
#include "sim/execute/run_program/weight_bound.hpp"

namespace lockstep {

namespace {

using Key = std::pair<std::string, int>;  // name, position

/// Compares what ranks hold with whole tensors, one after another.
template <class Real>
class Comparison {
 public:
  Comparison(const std::vector<BasicHeldWeight<Real>>& reference, const WeightBound* bound)
      : bound_{bound} {
    for (const BasicHeldWeight<Real>& weight : reference) {
      if (weight.copy != weight.name) continue;
      const Key key{weight.name, weight.position};
      whole_.emplace(key, weight);
      seen_[key].resize(weight.values->size());
    }
    out_.value = -1;
  }

  void add(const BasicHeldWeight<Real>& weight) {
    const Key key{weight.name, weight.position};
    const auto found = whole_.find(key);
    if (found == whole_.end()) {
      throw ExecutionError{
          fmt::format("nothing to compare {} of block {} with", weight.name, weight.position)};
    }
    const std::vector<std::int64_t> places = weight.layout->global_indices();
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      const auto place = static_cast<std::size_t>(places[i]);
      seen_[key].at(place) = true;
      const auto apart =
          static_cast<double>(std::abs((*weight.values)[i] - (*found->second.values)[place]));
      const double allowed =
          bound_ != nullptr ? bound_->of(weight.name, weight.position, place) : 0;
      const double share = bound_ != nullptr ? apart / allowed : apart;
      if (share <= most_) continue;
      most_ = std::isnan(share) ? INFINITY : share;
      out_.value = std::isnan(apart) ? INFINITY : apart;
      out_.allowed = allowed;
      out_.where = weight;
      out_.index = places[i];
    }
  }

  [[nodiscard]] BasicWeightDifference<Real> result() {
    for (const auto& [key, elements] : seen_) {
      for (const bool element : elements) {
        if (element) continue;
        out_.missing.push_back(fmt::format("{} of block {}", key.first, key.second));
        break;
      }
    }
    return std::move(out_);
  }

 private:
  const WeightBound* bound_;
  double most_ = -1;  // share of what is allowed, or, without a bound, difference
  std::map<Key, BasicHeldWeight<Real>> whole_{};
  std::map<Key, std::vector<bool>> seen_{};
  BasicWeightDifference<Real> out_{};
};

template <class Real>
[[nodiscard]] BasicWeightDifference<Real> compared(
    const std::vector<BasicHeldWeight<Real>>& held,
    const std::vector<BasicHeldWeight<Real>>& reference, const std::vector<int>& ranks,
    const WeightBound* bound = nullptr) {
  Comparison<Real> comparison{reference, bound};
  for (const BasicHeldWeight<Real>& weight : held) {
    const bool asked = ranks.empty() || std::count(ranks.begin(), ranks.end(), weight.rank) > 0;
    if (asked) comparison.add(weight);
  }
  return comparison.result();
}

}  // namespace

template <class Real>
std::string BasicWeightDifference<Real>::text() const {
  std::string out = fmt::format("{} of {} ({}) of block {} on rank {}, element {}", value,
                                where.name, where.copy, where.position, where.rank, index);
  for (const std::string& name : missing) out += fmt::format("; {} is not all there", name);
  return out;
}

template <class Real>
BasicWeightDifference<Real> largest_difference(BasicProgramExecution<Real>& execution,
                                               BasicProgramExecution<Real>& reference,
                                               const std::vector<int>& ranks,
                                               const WeightBound* bound) {
  return compared(execution.weights(), reference.weights(), ranks, bound);
}

template <class Real>
BasicWeightDifference<Real> largest_state_difference(BasicProgramExecution<Real>& execution,
                                                     BasicProgramExecution<Real>& reference,
                                                     const std::vector<int>& ranks) {
  return compared(execution.states(), reference.states(), ranks);
}

template <class Real>
BasicWeightDifference<Real> largest_state_difference(
    BasicProgramExecution<Real>& execution, const std::vector<BasicHeldWeight<Real>>& reference,
    const std::vector<int>& ranks, const WeightBound& bound) {
  return compared(execution.states(), reference, ranks, &bound);
}

template struct BasicWeightDifference<float>;
template struct BasicWeightDifference<double>;
template BasicWeightDifference<float> largest_difference(BasicProgramExecution<float>&,
                                                         BasicProgramExecution<float>&,
                                                         const std::vector<int>&,
                                                         const WeightBound*);
template BasicWeightDifference<double> largest_difference(BasicProgramExecution<double>&,
                                                          BasicProgramExecution<double>&,
                                                          const std::vector<int>&,
                                                          const WeightBound*);
template BasicWeightDifference<float> largest_state_difference(BasicProgramExecution<float>&,
                                                               BasicProgramExecution<float>&,
                                                               const std::vector<int>&);
template BasicWeightDifference<double> largest_state_difference(BasicProgramExecution<double>&,
                                                                BasicProgramExecution<double>&,
                                                                const std::vector<int>&);
template BasicWeightDifference<float> largest_state_difference(
    BasicProgramExecution<float>&, const std::vector<BasicHeldWeight<float>>&,
    const std::vector<int>&, const WeightBound&);
template BasicWeightDifference<double> largest_state_difference(
    BasicProgramExecution<double>&, const std::vector<BasicHeldWeight<double>>&,
    const std::vector<int>&, const WeightBound&);

}  // namespace lockstep
