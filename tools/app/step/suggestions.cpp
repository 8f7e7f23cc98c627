#include "tools/app/step/suggestions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sim/config/json/config_error.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/pipeline/pipeline_order.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/progress.hpp"
#include "tools/app/step/memory_check.hpp"
#include "tools/app/step/prepared_step.hpp"
#include "tools/app/step/run_step.hpp"
#include "tools/app/step/simulate_step.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kShown = 3;
constexpr double kLeastSaving = 0.005;  // of the step

/// A change and the time that it might save.
struct RankedChange {
  LayoutChange change;
  double saving_s = 0;
};

std::string set_to(const std::string& key, std::int64_t value) {
  return fmt::format("parallel.{}={}", key, value);
}

/// Collects candidates of one layout.
class LayoutChanges {
 public:
  explicit LayoutChanges(const TrainingStepResult& result)
      : plan_{result.scenario.parallel}, busiest_{result.summary.busiest} {}

  std::vector<RankedChange> collect() {
    add_overlap();
    add_recomputation();
    add_pipeline();
    add_microbatches();
    add_sharding();
    add_degrees();
    std::stable_sort(out_.begin(), out_.end(), [](const RankedChange& a, const RankedChange& b) {
      return a.saving_s > b.saving_s;
    });
    return std::move(out_);
  }

 private:
  void add(LayoutChange change, double saving_s) {
    if (saving_s > 0) out_.push_back({std::move(change), saving_s});
  }

  [[nodiscard]] double exposed(const std::string& group) const {
    const auto found = busiest_.exposed.find(group);
    return found == busiest_.exposed.end() ? 0 : found->second.seconds();
  }

  /// Everything that the layout can overlap and does not.
  void add_overlap() {
    std::vector<std::string> kinds;
    double saving = 0;
    const auto consider = [&](Overlap what, bool possible, const std::string& group) {
      if (!possible) return;
      kinds.emplace_back(name_of(overlap_names(), what));
      if (!plan_.overlaps(what)) saving += exposed(group);
    };
    consider(Overlap::cp, plan_.cp > 1, "cp");
    const bool replicas = plan_.dp * plan_.cp * plan_.stage_copies() > 1;
    consider(Overlap::dp_gradients, replicas, "dp");
    consider(Overlap::dp_parameters, replicas && plan_.zero > 0, "dp");
    consider(Overlap::ep, plan_.ep > 1 && plan_.overlaps(Overlap::ep), "ep");
    consider(Overlap::hsdp, plan_.shard_ranks > 0, "hsdp");
    consider(Overlap::outer, plan_.overlaps(Overlap::outer), "outer");  // it changes the training
    consider(Overlap::pp, plan_.pp > 1, "pp");
    consider(Overlap::tp, plan_.tp > 1, "tp");
    add({fmt::format("parallel.overlap={}", fmt::join(kinds, ","))}, saving);
  }

  void add_recomputation() {
    const double again = busiest_.purpose[static_cast<std::size_t>(Purpose::recompute)].seconds();
    if (plan_.recompute == Recompute::none) return;
    add({"parallel.recompute=none"}, again);
    if (plan_.recompute == Recompute::full) add({"parallel.recompute=selective"}, 0.9 * again);
  }

  void add_pipeline() {
    if (plan_.pp == 1) return;
    const double idle = busiest_.fill_drain.seconds();
    if (!is_v(plan_.schedule) && !is_bidirectional(plan_.schedule)) {
      LayoutChange more{set_to("vpp", std::int64_t{2} * plan_.vpp)};
      if (plan_.schedule != PipelineOrder::interleaved)
        more.emplace_back("parallel.schedule=interleaved");
      add(std::move(more), 0.5 * idle);
    }
    if (plan_.schedule == PipelineOrder::one_f_one_b) add({"parallel.schedule=zb-h1"}, 0.4 * idle);
    if (plan_.schedule == PipelineOrder::naive || plan_.schedule == PipelineOrder::none)
      add({"parallel.schedule=1f1b"}, 0.9 * busiest_.bubble.seconds());
    move_ranks("pp", plan_.pp, false, 0.5 * busiest_.bubble.seconds());
  }

  void add_microbatches() {
    const double launches = busiest_.issue.seconds();
    const double computation = busiest_.computation_total().seconds();
    if (plan_.microbatches() % 2 == 0)
      add({set_to("micro_batch", 2 * plan_.micro_batch)}, 0.5 * launches + 0.02 * computation);
    if (plan_.micro_batch % 2 == 0 && plan_.pp > 1)
      add({set_to("micro_batch", plan_.micro_batch / 2)}, 0.4 * busiest_.fill_drain.seconds());
  }

  void add_sharding() {
    if (plan_.zero == 3) add({"parallel.zero=1"}, 0.4 * exposed("dp"));
    if (plan_.zero == 2) add({"parallel.zero=1"}, 0.3 * exposed("dp"));
    if (plan_.zero == 0 && plan_.dp * plan_.cp > 1)
      add({"parallel.zero=1"}, 0.2 * exposed("dp") + update_seconds());
    if (plan_.tp > 1 && !plan_.sequence_parallel)
      add({"parallel.sequence_parallel=true"}, 0.1 * exposed("tp"));
  }

  [[nodiscard]] double update_seconds() const {
    return 0.8 * busiest_.purpose[static_cast<std::size_t>(Purpose::update)].seconds();
  }

  void add_degrees() {
    move_ranks("tp", plan_.tp, false, 0.5 * exposed("tp"));
    move_ranks("cp", plan_.cp, false, 0.6 * exposed("cp"));
    if (plan_.ep > 1) add({set_to("ep", plan_.ep / 2)}, 0.5 * exposed("ep"));
    if (plan_.ep > 8) add({set_to("ep", 8)}, 0.6 * exposed("ep"));
    if (plan_.ep > 1 && plan_.expert_tp() > 1 && plan_.sequence_parallel)
      add({set_to("etp", 1)}, 0.3 * exposed("tp"));
    move_ranks("tp", plan_.tp, true, 0.3 * (exposed("dp") + exposed("cp")));
  }

  /// Half or twice the degree, with the ranks from or to data parallelism.
  void move_ranks(const std::string& axis, int degree, bool more, double saving_s) {
    if (more ? plan_.dp % 2 != 0 : degree % 2 != 0) return;
    const int other = more ? 2 * degree : degree / 2;
    LayoutChange change{set_to(axis, other), set_to("dp", more ? plan_.dp / 2 : 2 * plan_.dp)};
    if (axis == "tp" && other == 1 && plan_.sequence_parallel)
      change.emplace_back("parallel.sequence_parallel=false");
    if (axis == "pp" && other == 1) {
      change.emplace_back("parallel.schedule=none");
      if (plan_.vpp > 1) change.push_back(set_to("vpp", 1));
    }
    add(std::move(change), saving_s);
  }

  const ParallelConfig& plan_;
  const Breakdown& busiest_;
  std::vector<RankedChange> out_;
};

TrainingStepRequest request_with(const TrainingStepRequest& request, const LayoutChange& change) {
  TrainingStepRequest out = request;
  out.overrides.insert(out.overrides.end(), change.begin(), change.end());
  out.suggestions = 0;
  out.trace.clear();
  out.on_progress = {};
  out.on_phase = {};
  return out;
}

/// A change that may be simulated.
struct Trial {
  LayoutChange change;
  PreparedTrainingStep prepared;
};

/// Nothing where the change is invalid.
std::optional<PreparedTrainingStep> prepared_or_none(const TrainingStepRequest& request) {
  try {
    return prepare_step(request);
  } catch (const ConfigError&) {
    return std::nullopt;
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

std::vector<Trial> trials(const TrainingStepRequest& request,
                          const std::vector<LayoutChange>& changes, TrainingStepSuggestions& out) {
  std::vector<Trial> trials;
  std::size_t accounts = 0;
  for (const LayoutChange& change : changes) {
    if (trials.size() == request.suggestions || accounts == 2 * request.suggestions) break;
    auto prepared = prepared_or_none(request_with(request, change));
    if (!prepared) continue;
    ++accounts;
    if (prepared->fits()) {
      prepared->roles = {};  // they take much memory: unrolled again for the simulation
      trials.push_back({change, *std::move(prepared)});
    } else {
      ++out.no_memory;
    }
  }
  return trials;
}

/// Nothing where it is impossible, does not fit after all, or gets another fidelity.
std::optional<Suggestion> simulated_change(const Trial& trial, Fidelity fidelity) {
  try {
    const PreparedTrainingStep& prepared = trial.prepared;
    const SimulatedTrainingStep step = simulate_step(prepared, prepared.scenario.parallel,
                                                     prepared.program, unroll(*prepared.program));
    const RankMemory memory = memory_of(prepared, step);
    if (step.fidelity != fidelity || !memory.fits()) return std::nullopt;
    return Suggestion{trial.change, step.timeline.end.since_start(), memory.needed(), memory.fit()};
  } catch (const Refusal&) {
    return std::nullopt;
  } catch (const TrainingStepTooLarge&) {
    return std::nullopt;
  }
}

std::size_t operations_of(const TrainingStepTimeline& timeline) {
  std::size_t out = 0;
  for (const RankTimeline& rank : timeline.ranks) out += rank.operations.size();
  return out;
}

void keep_best(std::vector<std::optional<Suggestion>> found, Duration step,
               std::vector<Suggestion>& best) {
  for (auto& each : found)
    if (each && each->step.seconds() <= (1 - kLeastSaving) * step.seconds())
      best.push_back(*std::move(each));
  std::stable_sort(best.begin(), best.end(),
                   [](const Suggestion& a, const Suggestion& b) { return a.step < b.step; });
  best.resize(std::min(best.size(), kShown));
}

}  // namespace

std::vector<LayoutChange> candidate_changes(const TrainingStepResult& result) {
  std::vector<LayoutChange> out;
  for (RankedChange& each : LayoutChanges{result}.collect()) out.push_back(std::move(each.change));
  return out;
}

TrainingStepSuggestions suggestions_for(const TrainingStepRequest& request,
                                        const TrainingStepResult& result) {
  TrainingStepSuggestions out;
  if (request.suggestions == 0 || result.averaging) return out;
  out.left_out =
      request.suggests_if_quick && operations_of(result.step.timeline) > kQuickOperations;
  if (out.left_out) return out;
  const std::vector<Trial> tried = trials(request, candidate_changes(result), out);
  out.simulated = tried.size();
  std::vector<std::optional<Suggestion>> found(tried.size());
  const auto report = [&request](const WorkProgress& now) {
    if (request.on_phase && now.total > 0)
      request.on_phase({fmt::format("simulating {} changes of the layout", now.total), now.share});
  };
  ProgressCounter progress(report, tried.size());
  in_parallel(tried.size(), [&](std::size_t i) {
    found[i] = simulated_change(tried[i], result.step.fidelity);
    progress.step();
  });
  const Duration step = result.step.timeline.end.since_start();
  keep_best(std::move(found), step, out.best);
  return out;
}

}  // namespace lockstep::app
