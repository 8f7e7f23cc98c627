#include "tools/app/plan/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "strategies/step/bound/program_bound.hpp"
#include "strategies/step/build_program.hpp"
#include "strategies/step/training_step_simulator.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/plan/best_layouts.hpp"
#include "tools/app/plan/candidates.hpp"
#include "tools/app/plan/plan_contexts.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kBatch = 8;  // points that are worked on side by side
constexpr double kFirstLookSeconds = 10;

class Search {
 public:
  Search(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
         const SearchOptions& options)
      : space_{space},
        settings_{settings},
        options_{options},
        contexts_{space, settings, options.walk},
        best_{space, settings, options},
        range_{slice(options.shard), slice(options.shard + 1)},
        begin_{std::chrono::steady_clock::now()} {
    check_metrics();
    for (const SimulatedLayout& each : options.known) known_.emplace(each.index, each);
  }

  [[nodiscard]] SearchResult run() {
    result_.certificate.points = range_.end - range_.begin;
    look_first();
    find_candidates();
    decide();
    // What was not kept may still be better than what was found.
    while (result_.complete && left_out_ && !best_.excludes(*left_out_)) {
      find_candidates();
      decide();
    }
    conclude();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::uint64_t slice(std::uint64_t shard) const {
    return static_cast<std::uint64_t>(static_cast<UInt128>(space_.size()) * shard /
                                      options_.shards);
  }

  /// Metrics that are asked for must be known in every setting.
  void check_metrics() const {
    using Asked = std::pair<PlanMetric, const char*>;
    std::vector<Asked> asked;
    for (const PlanMetric metric : options_.pareto) asked.emplace_back(metric, "pareto");
    if (asked.empty()) asked.emplace_back(options_.objective, "objective");
    for (const PlanLimit& limit : options_.limits) asked.emplace_back(limit.metric, "where");
    for (const auto& [metric, place] : asked) {
      for (const auto& setting : settings_) {
        if (value_of(metric, {1, Bytes{}}, *setting, options_.prices)) continue;
        const MetricInfo& info = info_of(metric);
        throw RequestError(place, fmt::format("{} is unknown: it needs {}", info.name, info.needs));
      }
    }
  }

  [[nodiscard]] const PlanSetting& setting_of(std::uint64_t index) const {
    return *settings_[static_cast<std::size_t>(index / space_.layout_count())];
  }

  /// Searches few values of most keys, for a while, so that there is something to compare with.
  void look_first() {
    const bool narrows = std::any_of(options_.first_look.begin(), options_.first_look.end(),
                                     [](const auto& values) { return !values.empty(); });
    if (!narrows || result_.certificate.points < options_.large) return;
    WalkOptions walk = options_.walk;
    walk.only = options_.first_look;
    PlanContexts contexts{space_, settings_, walk};
    const double share = options_.most_seconds.value_or(kFirstLookSeconds * 4) / 4;
    const double until = seconds() + std::min(share, kFirstLookSeconds);
    CandidateFinder finder{space_, settings_, options_, best_, contexts, range_, [this, until] {
                             return must_stop() || seconds() >= until;
                           }};
    candidates_ = finder.find([this](const PointRank& rank) { return best_.excludes(rank); }).kept;
    next_ = 0;
    look_until_ = seconds() + share;
    decide();
    look_until_.reset();
    candidates_.clear();
    refined_ = {};
    next_ = 0;
    result_.complete = true;
  }

  /// All points that are not decided yet and may be among the best.
  void find_candidates() {
    CandidateFinder finder{space_, settings_, options_, best_, contexts_, range_, [this] {
                             return must_stop() || is_bounding_over();
                           }};
    finder.on_points([this](std::uint64_t points) { report_bounding(points); });
    CandidateList found = finder.find([this](const PointRank& rank) {
      return best_.excludes(rank) || settled_.contains(rank.index);
    });
    SearchCertificate& certificate = result_.certificate;
    certificate.rules = found.rules;
    certificate.bounds += found.bounds;
    certificate.bounding_s += found.cpu_s;
    result_.memory_by_bound = found.memory;
    result_.limits_by_bound = found.limits;
    if (result_.cells.empty()) result_.cells = std::move(found.cells);
    result_.complete = result_.complete && found.complete;
    left_out_ = found.left_out;
    certificate.unvisited = found.unvisited;
    candidates_ = std::move(found.kept);
    next_ = 0;
    enumerated_ = true;
    decided_ = 0;
    decision_began_s_ = seconds();
  }

  struct Work {
    PlanCandidate candidate;
    bool simulates = false;  // else its program is bounded
    // What came of it.
    std::optional<PlanCandidate> refined{};
    std::optional<SimulatedLayout> simulated{};
    bool no_memory = false;
    bool no_limit = false;
    bool impossible = false;
    double cpu_s = 0;
  };

  void decide() {
    while (true) {
      std::vector<Work> batch = next_batch();
      if (batch.empty()) return;
      if (must_stop() || is_out_of_budget() || (look_until_ && seconds() >= *look_until_)) {
        for (const Work& work : batch) refined_.push(work.candidate);
        result_.complete = false;
        return;
      }
      in_parallel(
          batch.size(), [&](std::size_t i) { work_on(batch[i]); }, options_.threads);
      for (Work& work : batch) settle(work);
      decided_ += batch.size();
      report();
    }
  }

  /// The points of least bounds; those that were refined are simulated.
  [[nodiscard]] std::vector<Work> next_batch() {
    std::vector<Work> out;
    while (out.size() < kBatch) {
      const bool any = next_ < candidates_.size();
      if (!any && refined_.empty()) break;
      const bool old = !refined_.empty() && (!any || !(candidates_[next_] < refined_.top()));
      const PlanCandidate candidate = old ? refined_.top() : candidates_[next_];
      if (best_.excludes(candidate.rank)) break;
      if (old) {
        refined_.pop();
      } else {
        ++next_;
      }
      if (excludes(candidate)) continue;
      out.push_back({candidate, old});
    }
    return out;
  }

  [[nodiscard]] bool excludes(const PlanCandidate& candidate) const {
    return best_.excludes(candidate.rank.index, candidate.bound());
  }

  void work_on(Work& work) {
    const double begin = thread_cpu_seconds();
    const std::uint64_t index = work.candidate.rank.index;
    const auto found = known_.find(index);
    if (found != known_.end() && work.simulates) {
      work.simulated = found->second;
      return;
    }
    PlanContexts::Lent context{contexts_, static_cast<std::size_t>(index / space_.layout_count())};
    const auto layout = context->walk.at(index);
    const ParallelConfig& parallel = std::get<ParallelConfig>(layout);
    const std::string stack = context->walk.stack();
    if (work.simulates) {
      simulate_layout(*context, parallel, stack, work);
    } else {
      refine(*context, parallel, stack, work);
    }
    work.cpu_s = thread_cpu_seconds() - begin;
  }

  void refine(PlanContext& context, const ParallelConfig& parallel, const std::string& stack,
              Work& work) const {
    const PlanSetting& setting = context.setting;
    const Program program =
        build_program(setting.scenario().model, parallel, setting.gpus_per_node());
    PlanCandidate finer = work.candidate;
    const Duration bound = setting.with_ranks_as_they_are(
        program_bound(program, setting.cost(stack), context.bounds.operations(stack)));
    finer.bound_ps = std::max(finer.bound_ps, bound.ps());
    if (!may_hold(options_.limits, finer.bound(), setting, options_.prices)) {
      work.no_limit = true;
      return;
    }
    finer.rank = best_.rank_of(finer.rank.index, finer.bound());
    work.refined = finer;
  }

  /// None if it needs more memory than there is even in the order of its program. Periods that
  /// take equally long are simulated but a few times, unless a rank is slow in some of them.
  [[nodiscard]] static std::optional<TrainingStepOutcome> outcome_of(
      const Program& program, const ParallelConfig& parallel, const PlanSetting& setting,
      TrainingStepSimulator& simulator, const CostModel& cost) {
    const auto capacity = setting.memory_capacity();
    const auto shorter =
        setting.has_windows() ? std::optional<ShortenedProgram>{} : shortened(program);
    if (shorter) {
      const RolePrograms roles = unroll(shorter->program);
      if (capacity && peak_in_order(*shorter, roles) > *capacity) return std::nullopt;
      const auto step = simulator.outcome(*shorter, roles, parallel, cost);
      if (step) return step;
    }
    const RolePrograms roles = unroll(program);
    if (capacity && peak_in_order(roles) > *capacity) return std::nullopt;
    return simulator.outcome(program, roles, parallel, cost);
  }

  void simulate_layout(PlanContext& context, const ParallelConfig& parallel,
                       const std::string& stack, Work& work) const {
    const PlanSetting& setting = context.setting;
    const Scenario& scenario = setting.scenario();
    const auto capacity = setting.memory_capacity();
    try {
      const Program program = build_program(scenario.model, parallel, setting.gpus_per_node());
      const auto step =
          outcome_of(program, parallel, setting, context.simulator(stack), setting.cost(stack));
      if (!step) {
        work.no_memory = true;
        return;
      }
      const PlanPoint bound = work.candidate.bound();
      work.simulated = SimulatedLayout{work.candidate.rank.index,
                                       bound.step_s,
                                       step->step.seconds(),
                                       step->step,
                                       step->peak_memory,
                                       !capacity || step->peak_memory <= *capacity,
                                       true,
                                       bound.memory};
    } catch (const ProgramStuck&) {
      work.impossible = true;
    } catch (const TrainingStepTooLarge&) {
      work.impossible = true;
    }
  }

  void settle(Work& work) {
    SearchCertificate& certificate = result_.certificate;
    const std::uint64_t index = work.candidate.rank.index;
    (work.simulates ? certificate.simulating_s : certificate.bounding_s) += work.cpu_s;
    if (work.refined) {
      refined_.push(*work.refined);
      ++refinements_;
      return;
    }
    settled_.insert(index);
    if (work.simulated) {
      if (!known_.contains(index)) result_.simulation_cpu_s.push_back(work.cpu_s);
      note(*work.simulated);
      return;
    }
    using Why = DroppedLayout::Why;
    const Why why =
        work.no_memory ? Why::memory : (work.no_limit ? Why::limits : Why::not_simulated);
    const PlanPoint bound = work.candidate.bound();
    result_.dropped.push_back({index, bound.step_s, bound.memory, why});
  }

  void note(SimulatedLayout layout) {
    layout.holds = holds(options_.limits, {layout.step_s, layout.memory}, setting_of(layout.index),
                         options_.prices);
    const bool is_new = !known_.contains(layout.index);
    if (is_new && options_.on_simulated) options_.on_simulated(layout);
    if (is_new) ++simulations_;
    result_.all.push_back(layout);
    best_.add(layout);
  }

  // The end.

  void conclude() {
    result_.best = best_.list();
    std::sort(result_.all.begin(), result_.all.end(),
              [](const SimulatedLayout& a, const SimulatedLayout& b) { return a.index < b.index; });
    std::sort(result_.dropped.begin(), result_.dropped.end(),
              [](const DroppedLayout& a, const DroppedLayout& b) { return a.index < b.index; });
    result_.certificate.refined = refinements_;
    if (!result_.complete) note_undecided();
    count_points(best_, result_);
    add_dropped_to_cells();
  }

  /// Layouts whose programs need too much memory, which bounds had not dropped.
  void add_dropped_to_cells() {
    if (result_.cells.empty()) return;
    const std::uint64_t points = space_.layout_count() / (result_.cells.size() / settings_.size());
    for (const DroppedLayout& layout : result_.dropped)
      if (layout.why == DroppedLayout::Why::memory &&
          !best_.excludes(layout.index, {layout.bound_s, layout.bound_memory}))
        ++result_.cells[static_cast<std::size_t>(layout.index / points)].memory;
  }

  /// What is left where a budget or an interruption ended the search.
  void note_undecided() {
    result_.certificate.undecided = result_.certificate.unvisited;
    std::optional<double> least;
    const auto add = [&](const PlanCandidate& each) {
      if (excludes(each)) return;
      ++result_.certificate.undecided;
      least = std::min(least.value_or(each.rank.value), each.rank.value);
    };
    for (std::size_t i = next_; i < candidates_.size(); ++i) add(candidates_[i]);
    for (; !refined_.empty(); refined_.pop()) add(refined_.top());
    if (result_.certificate.unvisited == 0) result_.certificate.open_bound = least;
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  [[nodiscard]] bool must_stop() const {
    if (options_.most_seconds && seconds() >= *options_.most_seconds) return true;
    return options_.stop && options_.stop();
  }
  /// The rest of a budget is for simulations.
  [[nodiscard]] bool is_bounding_over() const {
    return options_.most_seconds && seconds() >= *options_.most_seconds / 2;
  }
  [[nodiscard]] bool is_out_of_budget() const {
    return options_.most_simulated && simulations_ >= *options_.most_simulated;
  }

  /// Where it stands while points are bounded.
  void report_bounding(std::uint64_t bounded) {
    if (!options_.on_progress) return;
    SearchProgress progress;
    progress.points = result_.certificate.points;
    progress.bounded = bounded;
    progress.simulated = simulations_;
    progress.incumbent = best_.value();
    if (!enumerated_ && bounded > 0)
      progress.left_s =
          seconds() * (static_cast<double>(progress.points) / static_cast<double>(bounded) - 1);
    options_.on_progress(progress);
  }

  /// Of the candidates, those that the best so far do not exclude, at the pace so far.
  [[nodiscard]] std::optional<double> seconds_left() const {
    if (!options_.pareto.empty() || decided_ == 0 || !best_.value()) return std::nullopt;
    const auto end = std::partition_point(
        candidates_.begin() + static_cast<std::ptrdiff_t>(next_), candidates_.end(),
        [&](const PlanCandidate& each) { return !best_.excludes(each.rank); });
    const auto open = static_cast<double>(end - candidates_.begin()) - static_cast<double>(next_) +
                      static_cast<double>(refined_.size());
    return (seconds() - decision_began_s_) / static_cast<double>(decided_) * open;
  }

  void report() {
    if (!options_.on_progress) return;
    SearchProgress progress;
    progress.points = result_.certificate.points;
    progress.simulated = simulations_;
    progress.bounded = progress.points;
    progress.enumerated = enumerated_;
    progress.left_s = seconds_left();
    progress.decided =
        progress.points -
        std::min<std::uint64_t>(progress.points, candidates_.size() - next_ + refined_.size());
    if (const auto value = best_.value()) {
      progress.incumbent = value;
      double open = refined_.empty() ? *value : refined_.top().rank.value;
      if (next_ < candidates_.size()) open = std::min(open, candidates_[next_].rank.value);
      if (enumerated_)
        progress.gap = *value == 0 ? 0 : std::max(0.0, (*value - open) / std::abs(*value));
    }
    options_.on_progress(progress);
  }

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  const SearchOptions& options_;
  PlanContexts contexts_;
  BestLayouts best_;
  PointRange range_;
  std::chrono::steady_clock::time_point begin_;
  std::map<std::uint64_t, SimulatedLayout> known_;
  std::vector<PlanCandidate> candidates_;  // sorted
  std::size_t next_ = 0;
  std::priority_queue<PlanCandidate, std::vector<PlanCandidate>, std::greater<>> refined_;
  std::set<std::uint64_t> settled_;
  std::optional<PointRank> left_out_;
  std::uint64_t refinements_ = 0;
  std::uint64_t simulations_ = 0;
  std::uint64_t decided_ = 0;  // candidates that were worked on since all were bounded
  double decision_began_s_ = 0;
  bool enumerated_ = false;
  std::optional<double> look_until_;  // during the first look
  SearchResult result_;
};

}  // namespace

SearchResult search_space(const PlanSpace& space,
                          const std::vector<std::unique_ptr<PlanSetting>>& settings,
                          const SearchOptions& options) {
  return Search{space, settings, options}.run();
}

}  // namespace lockstep::app
