#include "tools/app/sweep/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/config/config_error.hpp"
#include "sim/config/json_values.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/plan/axis.hpp"
#include "tools/app/step/memory_changes.hpp"

namespace lockstep::app {

namespace {

constexpr std::string_view kDp = "parallel.dp";

/// A key with its values, as written and as `--set` takes them.
struct SweepKey {
  std::string key;
  std::vector<std::string> values{};
  std::vector<std::string> overrides{};
};

/// One key, or several whose values go together.
struct SweepAxis {
  std::vector<SweepKey> keys{};

  [[nodiscard]] std::size_t size() const { return keys.front().values.size(); }
};

void add_memory(const RankMemory& memory, SweepRow& out) {
  out.memory = memory.needed().count();
  if (memory.capacity) out.margin = memory.capacity->count() - *out.memory;
}

[[nodiscard]] SweepRow row_of(const VariantResult& step) {
  SweepRow out;
  if (step.result) {
    const Throughput& speed = step.result->throughput;
    const Breakdown& busiest = step.result->summary.busiest;
    const double share = speed.step_s > 0 ? 1 / speed.step_s : 0;
    out.dp = step.result->scenario.parallel.dp;
    out.step_s = speed.step_s;
    out.step_ps = step.result->summary.step.ps();
    out.tokens_per_s = speed.tokens_per_s;
    out.mfu = speed.mfu();
    out.exposed = busiest.exposed_total().seconds() * share;
    out.bubble = busiest.bubble.seconds() * share;
    add_memory(step.result->memory, out);
    out.fit = step.result->memory.fit();
  } else if (step.shortfall) {
    if (step.shortfall->scenario) out.dp = step.shortfall->scenario->parallel.dp;
    add_memory(step.shortfall->memory, out);
    out.fit = MemoryFit::does_not_fit;
    out.outcome = SweepOutcome::misfit;
  } else {
    out.problem = step.problem;
    out.outcome = SweepOutcome::impossible;
  }
  return out;
}

}  // namespace

std::string state_of(const SweepRow& row) {
  return row.fit ? to_string(*row.fit) : "impossible: " + row.problem;
}

namespace {

class Sweep {
 public:
  explicit Sweep(const SweepRequest& request)
      : request_{request}, base_{base_scenario(request.space)} {
    // Axes are read against the scenario as it is: "divisors" of its heads and layers.
    for (const std::string& text : request.space.fix) add_fixed(text);
    const Scenario scenario = read(base_.overrides);
    name_ = scenario.name;
    for (const std::string& text : request.space.vary) add_axis(text, scenario);
    check_axes();
  }

  [[nodiscard]] SweepGrid grid() const {
    Fingerprint hash;
    for (const char letter : json_text(read(base_.overrides).resolved)) hash.add(letter);
    return {keys(), points(), hash.text()};
  }

  [[nodiscard]] SweepResult run() {
    SweepResult out{name_, {}, points(), 0, 0, 0, dp_follows(), true};
    out.axes = keys();
    const std::size_t threads =
        request_.threads > 0 ? request_.threads : std::max(1U, std::thread::hardware_concurrency());
    ProgressCounter progress{request_.on_progress, static_cast<std::size_t>(out.points)};
    // Points of unequal length keep all threads busy; results are held for one batch only.
    const std::uint64_t batch_size = 8 * std::uint64_t{threads};
    for (std::uint64_t first = 0; first < out.points; first += batch_size) {
      if (request_.stop && request_.stop()) {
        out.complete = false;
        break;
      }
      const auto count = static_cast<std::size_t>(std::min(batch_size, out.points - first));
      std::vector<SweepPoint> batch(count);
      in_parallel(
          count,
          [&](std::size_t i) {
            batch[i] = point(first + i);
            progress.step();
          },
          threads);
      for (const SweepPoint& each : batch) take(each, out);
      if (request_.on_batch) request_.on_batch();
    }
    if (out.complete && out.simulated + out.misfits == 0 && first_problem_)
      std::rethrow_exception(first_problem_);
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const SweepAxis& axis : axes_)
      for (const SweepKey& each : axis.keys) out.push_back(each.key);
    return out;
  }

  void add_fixed(const std::string& text) {
    const AxisText axis = parse_axis(text);
    if (axis.values.size() != 1)
      throw RequestError("fix", fmt::format("\"{}\": expected one value", text));
    const LayoutKey* key = layout_key(axis.key);
    base_.overrides.push_back(
        key != nullptr ? layout_override(*key, layout_value(*key, axis.values.front(), text))
                       : fmt::format("{}={}", axis.key, axis.values.front()));
  }

  void add_axis(const std::string& text, const Scenario& scenario) {
    SweepAxis axis;
    const std::vector<AxisText> keys = parse_axes(text);
    if (keys.size() == 1) {
      axis.keys.push_back(sweep_key(keys.front(), scenario));
    } else {
      for (const AxisText& each : keys) axis.keys.push_back(key_of_several(each));
    }
    axes_.push_back(std::move(axis));
  }

  /// A value may be there twice: with other values of the other keys.
  [[nodiscard]] static SweepKey key_of_several(const AxisText& text) {
    SweepKey out{text.key, text.values};
    const LayoutKey* key = layout_key(text.key);
    for (const std::string& value : text.values)
      out.overrides.push_back(key != nullptr
                                  ? layout_override(*key, layout_value(*key, value, text.written))
                                  : fmt::format("{}={}", text.key, value));
    return out;
  }

  [[nodiscard]] static SweepKey sweep_key(const AxisText& text, const Scenario& scenario) {
    SweepKey axis{text.key};
    if (const LayoutKey* key = layout_key(text.key)) {
      for (const LayoutValue& value : layout_axis(*key, text, divisible(*key, scenario)).values) {
        axis.values.push_back(value.text);
        axis.overrides.push_back(layout_override(*key, value));
      }
    } else {
      axis.values = setting_axis(text).values;
      for (const std::string& value : axis.values)
        axis.overrides.push_back(fmt::format("{}={}", text.key, value));
    }
    return axis;
  }

  void check_axes() const {
    if (axes_.empty())
      throw RequestError("vary", "expected an axis to vary, such as cluster.nodes=8..512*2");
    std::set<std::string> seen;
    for (const SweepAxis& axis : axes_)
      for (const SweepKey& each : axis.keys)
        if (!seen.insert(each.key).second)
          throw RequestError("vary", fmt::format("{} is varied twice", each.key));
    if (points() > kMostSweepPoints)
      throw RequestError(
          "vary", fmt::format("{} points, each of which is simulated: at most {} are possible; "
                              "`lockstep plan` finds the best of any number",
                              points(), kMostSweepPoints));
  }

  /// Saturates far above the limit.
  [[nodiscard]] std::uint64_t points() const {
    std::uint64_t out = 1;
    for (const SweepAxis& axis : axes_)
      out = std::min(out * axis.size(), kMostSweepPoints * 1'000'000);
    return out;
  }

  [[nodiscard]] bool dp_follows() const {
    const auto names_dp = [](const std::string& text) {
      return text == kDp || text.rfind(fmt::format("{}=", kDp), 0) == 0;
    };
    const auto has_dp = [&](const SweepAxis& axis) {
      return std::any_of(axis.keys.begin(), axis.keys.end(),
                         [&](const SweepKey& each) { return names_dp(each.key); });
    };
    return std::none_of(axes_.begin(), axes_.end(), has_dp) &&
           std::none_of(base_.overrides.begin(), base_.overrides.end(), names_dp);
  }

  [[nodiscard]] Scenario read(const std::vector<std::string>& overrides) const {
    return read_scenario(base_.document, "sweep", overrides, config_folder(), LayoutCheck::off);
  }

  /// Appends dp. Errors: RequestError if the other degrees do not divide the GPUs.
  void add_dp(std::vector<std::string>& overrides) const {
    const Scenario scenario = read(overrides);
    const ParallelConfig& parallel = scenario.parallel;
    const auto ranks = static_cast<std::int64_t>(scenario.cluster.cluster.ranks());
    const std::int64_t degrees = std::int64_t{parallel.tp} * parallel.pp * parallel.cp;
    if (degrees < 1 || ranks % degrees != 0)
      throw RequestError(fmt::format("tp * pp * cp = {} * {} * {} does not divide the {} GPUs",
                                     parallel.tp, parallel.pp, parallel.cp, ranks));
    overrides.push_back(fmt::format("{}={}", kDp, ranks / degrees));
  }

  [[nodiscard]] SweepPoint point(std::uint64_t index) {
    SweepPoint out{index, {}, {}};
    std::vector<std::string> own;
    std::uint64_t below = points();
    std::uint64_t rest = index;
    for (const SweepAxis& axis : axes_) {
      below /= axis.size();
      const auto at = static_cast<std::size_t>(rest / below);
      rest %= below;
      for (const SweepKey& each : axis.keys) {
        out.values.push_back(each.values[at]);
        own.push_back(each.overrides[at]);
      }
    }
    out.step.name = fmt::format("{}", fmt::join(own, ", "));
    out.step.overrides = base_.overrides;
    out.step.overrides.insert(out.step.overrides.end(), own.begin(), own.end());
    if (const auto known = request_.known.find(index); known != request_.known.end()) {
      out.row = known->second;
      return out;
    }
    simulate(index, out.step);
    out.row = row_of(out.step);
    return out;
  }

  void simulate(std::uint64_t index, VariantResult& out) {
    TrainingStepRequest step = request_.step;
    step.file = base_.document.file;
    step.document = base_.document;
    step.suggestions = 0;
    step.step_only = true;
    step.on_phase = {};
    step.on_progress = {};
    try {
      if (dp_follows()) add_dp(out.overrides);
      step.overrides = out.overrides;
      step.overrides.emplace_back("variants=[]");
      out.result = run_step(step);
      // What a row does not need: a step of many ranks has millions of operations.
      out.result->step.timeline = {};
      out.result->step.links.clear();
    } catch (const DoesNotFit& error) {
      out.shortfall = error.shortfall();
    } catch (const ConfigError& error) {
      out.problem = error.problems().front().message;
      if (index == 0) first_problem_ = std::current_exception();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal || error.code() == ErrorCode::io) throw;
      out.problem = error.message();
      if (index == 0) first_problem_ = std::current_exception();
    }
  }

  void take(const SweepPoint& point, SweepResult& out) const {
    ++(point.row.outcome == SweepOutcome::simulated ? out.simulated
       : point.row.outcome == SweepOutcome::misfit  ? out.misfits
                                                    : out.impossible);
    if (request_.on_point) request_.on_point(point);
  }

  const SweepRequest& request_;
  BaseScenario base_;
  std::string name_;
  std::vector<SweepAxis> axes_;
  std::exception_ptr first_problem_;  // of point 0
};

}  // namespace

SweepGrid grid_of(const SweepRequest& request) {
  return Sweep{request}.grid();
}

SweepResult sweep(const SweepRequest& request) {
  return Sweep{request}.run();
}

}  // namespace lockstep::app
