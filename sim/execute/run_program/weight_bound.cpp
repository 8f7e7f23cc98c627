#include "sim/execute/run_program/weight_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace lockstep {

namespace {

constexpr double kRoundings = 64;
constexpr std::string_view kSecondMoment = ".variance";
constexpr std::array<std::string_view, 2> kOuterStates{".outer", ".outer_momentum"};

/// The weight whose outer state this is, or the name itself.
[[nodiscard]] std::string weight_of(const std::string& name) {
  for (const std::string_view suffix : kOuterStates)
    if (std::string_view{name}.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size());
  return name;
}

[[nodiscard]] bool is_second_moment(const std::string& state) {
  return std::string_view{state}.ends_with(kSecondMoment);
}

/// As large as the gradients of the last steps.
[[nodiscard]] double root(double second_moment, const OptimizerSettings& by, int step) {
  return std::sqrt(second_moment / (1 - std::pow(by.beta2, step)));
}

}  // namespace

template <class Real>
void WeightBound::add_adam_step(BasicProgramExecution<Real>& reference, const OptimizerSettings& by,
                                int step) {
  const auto states = reference.states();
  double largest = 0;
  for (const auto& state : states) {
    if (!is_second_moment(state.name)) continue;
    for (const Real v : *state.values)
      largest = std::max(largest, root(static_cast<double>(v), by, step));
  }
  const double rounding = kRoundings * std::numeric_limits<Real>::epsilon() * largest;
  for (const auto& state : states) {
    if (!is_second_moment(state.name)) continue;
    const std::string weight = state.name.substr(0, state.name.size() - kSecondMoment.size());
    std::vector<double>& more = more_[{weight, state.position}];
    more.resize(state.values->size());
    for (std::size_t i = 0; i < more.size(); ++i) {
      const double size = root(static_cast<double>((*state.values)[i]), by, step) + by.epsilon;
      more[i] += by.adam_learning_rate * std::min(2.0, rounding / size);
    }
  }
}

double WeightBound::of(const std::string& weight, int position, std::size_t element) const {
  const auto found = more_.find({weight_of(weight), position});
  if (found == more_.end() || element >= found->second.size()) return tolerance_;
  return tolerance_ + found->second[element];
}

template void WeightBound::add_adam_step(BasicProgramExecution<float>&, const OptimizerSettings&,
                                         int);
template void WeightBound::add_adam_step(BasicProgramExecution<double>&, const OptimizerSettings&,
                                         int);

}  // namespace lockstep
