#include "tools/app/sweep/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/config/json/config_error.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/step/memory_changes.hpp"

namespace lockstep::app {

namespace {

void add_memory(const RankMemory& memory, SweepRow& out) {
  out.memory = memory.needed().count();
  if (memory.capacity) out.margin = memory.capacity->count() - *out.memory;
}

[[nodiscard]] SweepDraws draws_of(const TrainingStepResult& result) {
  SweepDraws out{result.drawn_ranks,
                 {},
                 result.scenario.parallel.ranks(),
                 result.scenario.seed,
                 result.step.fidelity};
  for (const int rank : out.ranks) out.speeds[rank] = speed_of(result.options.speeds, rank);
  return out;
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
    out.draws = draws_of(*step.result);
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
  explicit Sweep(const SweepRequest& request) : request_{request}, grid_{request.space} {}

  [[nodiscard]] SweepResult run() {
    SweepResult out{grid_.name(), grid_.keys(), grid_.points(), 0, 0, 0, grid_.dp_follows(), true};
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
  [[nodiscard]] SweepPoint point(std::uint64_t index) {
    SweepPoint out{index, grid_.values(index), {}};
    out.step.overrides = grid_.overrides(index);
    const auto own =
        out.step.overrides.begin() + static_cast<std::ptrdiff_t>(grid_.base().overrides.size());
    out.step.name = fmt::format("{}", fmt::join(own, out.step.overrides.end(), ", "));
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
    step.file = grid_.base().document.file;
    step.document = grid_.base().document;
    step.suggestions = 0;
    step.step_only = true;
    step.on_phase = {};
    step.on_progress = {};
    try {
      grid_.add_dp(out.overrides);
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
  SweepGrid grid_;
  std::exception_ptr first_problem_;  // of point 0
};

}  // namespace

SweepResult sweep(const SweepRequest& request) {
  return Sweep{request}.run();
}

}  // namespace lockstep::app
