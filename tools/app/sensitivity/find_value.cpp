#include "tools/app/sensitivity/find_value.hpp"

#include <cmath>
#include <utility>

#include "tools/app/sensitivity/sensitivity.hpp"

namespace lockstep::app {

namespace {

constexpr double kFarthest = 1000;
constexpr double kPrecision = 1e-3;  // of the value

}  // namespace

FoundValue find_value(const FindValueRequest& request) {
  TrainingStepResult now = run_step(request.step);
  const Figure figure = find_figure(figures_of(request.step, now), request.figure);
  TrainingStepRequest step = request.step;
  step.simulation.fidelity = now.step.fidelity;
  FoundValue out{figure, std::move(now)};
  const double best = figure.is_rate() ? kFarthest : 1 / kFarthest;
  const auto good = [&](double factor) {
    ++out.simulations;
    TrainingStepResult at = step_with(step, figure, factor);
    const bool wanted = request.wanted(at);
    if (wanted || factor == best) out.at = std::move(at);
    return wanted;
  };
  out.tried = best;
  if (!good(best)) return out;
  out.tried = 1 / best;
  if (good(1 / best)) {
    out.any = true;
    out.factor = 1 / best;
    return out;
  }
  const bool enough = request.wanted(out.now);
  double fine = std::log(enough ? 1 : best);
  double bad = std::log(enough ? 1 / best : 1);
  if (enough) (void)good(1);
  while (std::abs(fine - bad) > kPrecision) {
    const double middle = (fine + bad) / 2;
    (good(std::exp(middle)) ? fine : bad) = middle;
  }
  out.factor = std::exp(fine);
  return out;
}

}  // namespace lockstep::app
