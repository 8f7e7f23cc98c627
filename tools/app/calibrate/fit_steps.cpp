#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "strategies/measure/fit/least_squares.hpp"
#include "strategies/measure/fit/split.hpp"
#include "strategies/measure/validation/stack_rule.hpp"
#include "strategies/stacks/software_stack.hpp"
#include "tools/app/calibrate/fits.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/validate/validate.hpp"

namespace lockstep::app {

namespace {

constexpr int kSections = 6;           // of a figure's range
constexpr double kShortest = 0.5e-6;   // of the host per kernel
constexpr double kLongest = 200e-6;    // likewise
constexpr double kMostSlowdown = 1.5;  // of computation while communicating
constexpr double kNearEnd = 0.85;
constexpr std::size_t kFewestRuns = 4;

/// Evenly from the first to the last.
std::vector<Measured> thinned(const std::vector<const MeasuredRun*>& runs, std::size_t most) {
  std::vector<Measured> out;
  const std::size_t count = std::min(most, runs.size());
  for (std::size_t i = 0; i < count; ++i)
    out.emplace_back(*runs[count == 1 ? 0 : i * (runs.size() - 1) / (count - 1)]);
  return out;
}

/// The host's time per kernel, then the slowdown of computation during communication, each with the
/// other held: both lengthen steps, but in different rows.
class StackFitting {
 public:
  StackFitting(const std::string& stack, std::vector<Measured> rows, CalibrateResult& result)
      : stack_{stack}, rows_{std::move(rows)}, result_{result} {
    request_.quantity = ComparedQuantity::step_time;
    request_.figures = &result.calibration;
  }

  /// Why there is no fit; none if there is one.
  std::optional<UnmodeledRow> run() {
    const ErrorFigures before = errors();
    if (before.count < kFewestRuns)
      return UnmodeledRow{stack_, stack_, UnmodeledReason::few_runs, {}, {}, before.count};
    StackFit& fit = result_.calibration.stacks[stack_];
    const auto host = [&](double log) {
      fit.host_time = Duration::picoseconds(std::llround(std::exp(log) * 1e10) * 100);
      return errors().mean;
    };
    host(least_in(std::log(kShortest), std::log(kLongest), kSections, host));
    const auto slowdown = [&](double times) {
      fit.slowdown_while_communicating = std::round(times * 1000) / 1000;
      return errors().mean;
    };
    slowdown(least_in(1, kMostSlowdown, kSections, slowdown));
    ErrorFigures after = errors();
    if (const auto reason = refusal(before, after, fit)) {
      result_.calibration.stacks.erase(stack_);
      return UnmodeledRow{stack_, stack_, *reason};
    }
    result_.fitted.push_back({FittedStack{stack_, fit}, before, after});
    return std::nullopt;
  }

 private:
  /// At the end of a range it stands in for something else that is missing.
  static std::optional<UnmodeledReason> refusal(const ErrorFigures& before,
                                                const ErrorFigures& after, const StackFit& fit) {
    if (after.mean >= before.mean) return UnmodeledReason::no_better_fit;
    if (fit.host_time->seconds() > kNearEnd * kLongest) return UnmodeledReason::host_time_at_limit;
    if (*fit.slowdown_while_communicating > kNearEnd * kMostSlowdown)
      return UnmodeledReason::slowdown_at_limit;
    return std::nullopt;
  }

  [[nodiscard]] ErrorFigures errors() const {
    std::vector<double> out;
    for (const Comparison& row : validate(request_, rows_).rows) out.push_back(row.error());
    return out.empty() ? ErrorFigures{} : error_figures(out);
  }

  std::string stack_;
  std::vector<Measured> rows_;
  CalibrateResult& result_;
  ValidateRequest request_{};
};

}  // namespace

void fit_steps(const std::vector<Measured>& rows, std::size_t runs, CalibrateResult& result) {
  std::map<std::string, std::vector<const MeasuredRun*>> by_stack;
  for (const Measured& row : rows) {
    const auto* run = std::get_if<MeasuredRun>(&row);
    if (run == nullptr || !run->step_time) continue;
    if (run->origin.assumed.empty()) {
      by_stack[stack_of(*run, config_folder())].push_back(run);
    } else {
      result.left_out.push_back({run->origin.id, run->group, UnmodeledReason::assumed_fields});
    }
  }
  for (auto& [stack, of] : by_stack) {
    std::stable_sort(of.begin(), of.end(), [](const MeasuredRun* a, const MeasuredRun* b) {
      return *a->step_time < *b->step_time;
    });
    auto left_out = StackFitting{stack, thinned(of, runs), result}.run();
    if (left_out) result.left_out.push_back(*std::move(left_out));
  }
}

}  // namespace lockstep::app
