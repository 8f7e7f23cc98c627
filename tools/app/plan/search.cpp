#include "tools/app/plan/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <queue>
#include <set>

#include "strategies/step/bound/program_bound.hpp"
#include "strategies/step/build_program.hpp"
#include "strategies/step/training_step_simulator.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/step/metrics/rank_memory.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kMostKept = 4'000'000;  // bounded points that are held at once
constexpr std::size_t kBatch = 8;             // points that are worked on side by side

[[nodiscard]] double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A point that is not decided yet.
struct Candidate {
  double value = 0;  // of the objective, less is better: no layout of this point has less
  std::uint64_t index = 0;
  std::int64_t bound_ps = 0;
  std::int64_t memory = 0;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.value != b.value ? a.value < b.value : a.index < b.index;
  }
  friend bool operator>(const Candidate& a, const Candidate& b) { return b < a; }
};

/// What the enumeration of some points came to.
struct Enumerated {
  std::vector<Candidate> kept{};
  RuleCounts rules{};
  std::uint64_t memory = 0;
  std::uint64_t limits = 0;
  std::uint64_t bounded = 0;  // against a threshold that was known before
  std::uint64_t bounds = 0;
  std::uint64_t trimmed = 0;
  double least_trimmed = 0;
  std::optional<double> least{};  // value of all bounded points
  double cpu_s = 0;
  bool complete = true;
};

/// Contexts of threads, lent one at a time.
class ContextPool {
 public:
  ContextPool(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
              const WalkOptions& walk)
      : space_{space}, settings_{settings}, walk_{walk}, free_(settings.size()) {}

  struct Context {
    Context(const PlanSpace& space, const PlanSetting& of, const WalkOptions& options)
        : setting{of}, bounds{of}, walk{space, of, bounds, options} {}
    /// Of layouts under a software stack.
    [[nodiscard]] TrainingStepSimulator& simulator(const std::string& stack) {
      const auto found = simulators_.find(stack);
      if (found != simulators_.end()) return found->second;
      return simulators_.try_emplace(stack, setting.simulated(stack), setting.options(stack))
          .first->second;
    }

    const PlanSetting& setting;
    SettingBounds bounds;
    LayoutWalk walk;

   private:
    std::map<std::string, TrainingStepSimulator> simulators_;
  };

  class Lent {
   public:
    Lent(ContextPool& pool, std::size_t setting)
        : pool_{pool}, setting_{setting}, context_{pool.take(setting)} {}
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    ~Lent() { pool_.give_back(setting_, std::move(context_)); }
    Context& operator*() { return *context_; }
    Context* operator->() { return context_.get(); }

   private:
    ContextPool& pool_;
    std::size_t setting_;
    std::unique_ptr<Context> context_;
  };

 private:
  [[nodiscard]] std::unique_ptr<Context> take(std::size_t setting) {
    const std::lock_guard lock(mutex_);
    auto& free = free_[setting];
    if (free.empty()) return std::make_unique<Context>(space_, *settings_[setting], walk_);
    auto out = std::move(free.back());
    free.pop_back();
    return out;
  }
  void give_back(std::size_t setting, std::unique_ptr<Context> context) {
    const std::lock_guard lock(mutex_);
    free_[setting].push_back(std::move(context));
  }

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  WalkOptions walk_;
  std::mutex mutex_;
  std::vector<std::vector<std::unique_ptr<Context>>> free_;
};

class Search {
 public:
  Search(const PlanSpace& space, const std::vector<std::unique_ptr<PlanSetting>>& settings,
         const SearchOptions& options)
      : space_{space},
        settings_{settings},
        options_{options},
        pool_{space, settings, options.walk},
        range_{slice(options.shard), slice(options.shard + 1)},
        begin_{std::chrono::steady_clock::now()} {
    check_metrics();
    for (const SimulatedLayout& each : options.known) known_.emplace(each.index, each);
  }

  [[nodiscard]] SearchResult run() {
    result_.certificate.points = range_.end - range_.begin;
    enumerate(std::nullopt);
    decide();
    // What was not kept may still be better than what was found.
    while (result_.complete && trimmed_ && !is_beyond(*trimmed_)) {
      enumerate(threshold());
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
    std::vector<PlanMetric> asked = options_.pareto;
    if (asked.empty()) asked.push_back(options_.objective);
    for (const PlanLimit& limit : options_.limits) asked.push_back(limit.metric);
    for (const PlanMetric metric : asked) {
      for (const auto& setting : settings_) {
        if (value_of(metric, {1, Bytes{}}, *setting, options_.prices)) continue;
        const MetricInfo& info = info_of(metric);
        throw RequestError("objective",
                           fmt::format("{} is unknown: it needs {}", info.name, info.needs));
      }
    }
  }

  [[nodiscard]] const PlanSetting& setting_of(std::uint64_t index) const {
    return *settings_[static_cast<std::size_t>(index / space_.layout_count())];
  }

  /// Less is better.
  [[nodiscard]] double score(PlanMetric metric, const PlanPoint& point,
                             const PlanSetting& setting) const {
    const double value = *value_of(metric, point, setting, options_.prices);
    return info_of(metric).less_is_better ? value : -value;
  }
  [[nodiscard]] double objective(const PlanPoint& point, const PlanSetting& setting) const {
    return score(first_metric(), point, setting);
  }
  [[nodiscard]] PlanMetric first_metric() const {
    return options_.pareto.empty() ? options_.objective : options_.pareto.front();
  }

  [[nodiscard]] bool may_hold(const PlanPoint& bound, const PlanSetting& setting) const {
    return std::all_of(options_.limits.begin(), options_.limits.end(), [&](const PlanLimit& limit) {
      return !limit.is_prunable() ||
             limit.holds(*value_of(limit.metric, bound, setting, options_.prices));
    });
  }
  [[nodiscard]] bool holds(const PlanPoint& point, const PlanSetting& setting) const {
    return std::all_of(options_.limits.begin(), options_.limits.end(), [&](const PlanLimit& limit) {
      return limit.holds(*value_of(limit.metric, point, setting, options_.prices));
    });
  }

  // Enumeration.

  struct Part {
    std::size_t setting = 0;
    std::size_t tp = 0;
    std::size_t pp = 0;
  };

  [[nodiscard]] std::vector<Part> parts() const {
    std::vector<Part> out;
    for (std::size_t setting = 0; setting < settings_.size(); ++setting)
      for (std::size_t tp = 0; tp < space_.axis(LayoutKey::tp).values.size(); ++tp)
        for (std::size_t pp = 0; pp < space_.axis(LayoutKey::pp).values.size(); ++pp)
          out.push_back({setting, tp, pp});
    return out;
  }

  /// `least`: candidates up to this value only, of those that were not kept before.
  void enumerate(std::optional<double> most) {
    const std::vector<Part> all = parts();
    std::vector<Enumerated> found(all.size());
    const std::size_t room = std::max<std::size_t>(1000, kMostKept / all.size());
    in_parallel(
        all.size(), [&](std::size_t i) { found[i] = enumerate_part(all[i], room, most); },
        options_.threads);
    SearchCertificate& certificate = result_.certificate;
    certificate.rules = {};
    result_.memory_by_bound = 0;
    result_.limits_by_bound = 0;
    candidates_.clear();
    next_ = 0;
    std::optional<double> trimmed;
    if (result_.cells.empty()) note_cells(all, found);
    for (Enumerated& part : found) {
      for (std::size_t rule = 0; rule < kPlanRules; ++rule)
        certificate.rules[rule] += part.rules[rule];
      result_.memory_by_bound += part.memory;
      result_.limits_by_bound += part.limits;
      certificate.bounds += part.bounds;
      certificate.bounding_s += part.cpu_s;
      if (part.trimmed > 0)
        trimmed = trimmed ? std::min(*trimmed, part.least_trimmed) : part.least_trimmed;
      candidates_.insert(candidates_.end(), part.kept.begin(), part.kept.end());
      result_.complete = result_.complete && part.complete;
    }
    trimmed_ = trimmed;
    std::sort(candidates_.begin(), candidates_.end());
    enumerated_ = true;
  }

  void note_cells(const std::vector<Part>& parts, const std::vector<Enumerated>& found) {
    const std::uint64_t points = space_.layout_count() / (parts.size() / settings_.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Enumerated& of = found[i];
      SearchCell cell{
          parts[i].setting, parts[i].tp, parts[i].pp, range_.overlap(i * points, points),
          of.rules,         of.memory,   of.limits,   of.least};
      if (cell.bound && !info_of(first_metric()).less_is_better) cell.bound = -*cell.bound;
      result_.cells.push_back(cell);
    }
  }

  [[nodiscard]] Enumerated enumerate_part(const Part& part, std::size_t room,
                                          std::optional<double> most) {
    Enumerated out;
    if (must_stop()) {
      out.complete = false;
      return out;
    }
    const double begin = cpu_seconds();
    ContextPool::Lent context{pool_, part.setting};
    const PlanSetting& setting = context->setting;
    const auto capacity = setting.memory_capacity();
    const auto take = [&](const WalkedLayout& layout) {
      LayoutBounds& bounds = context->bounds.of(*layout.stack);
      ++out.bounds;
      const Bytes memory = bounds.memory(*layout.parallel);
      if (capacity && memory > *capacity) {
        ++out.memory;
        return;
      }
      const Duration time = bounds.time(*layout.parallel);
      const PlanPoint least{time.seconds(), memory};
      if (!may_hold(least, setting)) {
        ++out.limits;
        return;
      }
      const Candidate candidate{objective(least, setting), layout.index, time.ps(), memory.count()};
      out.least = std::min(out.least.value_or(candidate.value), candidate.value);
      if (most && (candidate.value > *most || is_settled(layout.index))) return;
      out.kept.push_back(candidate);
      if (out.kept.size() >= 2 * room) trim(out, room);
    };
    context->walk.run(part.tp, part.pp, range_, take, out.rules);
    if (out.kept.size() > room) trim(out, room);
    out.cpu_s = cpu_seconds() - begin;
    decided_ += range_.overlap(0, 0);
    return out;
  }

  /// Keeps the best.
  static void trim(Enumerated& of, std::size_t room) {
    std::nth_element(of.kept.begin(), of.kept.begin() + static_cast<std::ptrdiff_t>(room),
                     of.kept.end());
    for (std::size_t i = room; i < of.kept.size(); ++i) {
      of.least_trimmed =
          of.trimmed == 0 ? of.kept[i].value : std::min(of.least_trimmed, of.kept[i].value);
      ++of.trimmed;
    }
    of.kept.resize(room);
  }

  /// Whether an earlier round came to an end with the point.
  [[nodiscard]] bool is_settled(std::uint64_t index) const { return settled_.contains(index); }

  // Decision.

  /// The best layouts so far settle what a bound must not exceed; none until there are enough.
  [[nodiscard]] std::optional<double> threshold() const {
    if (best_.size() < options_.top) return std::nullopt;
    return std::prev(best_.end())->value;
  }

  [[nodiscard]] bool is_beyond(double value) const {
    if (!options_.pareto.empty()) return false;
    const auto most = threshold();
    return most && value > *most;
  }

  /// Whether a layout of the front is at least as good in everything and better in something.
  [[nodiscard]] bool is_dominated(const PlanPoint& point, const PlanSetting& setting) const {
    return std::any_of(front_.begin(), front_.end(), [&](const Front& each) {
      bool better = false;
      for (std::size_t i = 0; i < options_.pareto.size(); ++i) {
        const double value = score(options_.pareto[i], point, setting);
        if (each.scores[i] > value) return false;
        better = better || each.scores[i] < value;
      }
      return better;
    });
  }

  [[nodiscard]] bool is_bounded_away(const Candidate& candidate) const {
    if (options_.pareto.empty()) return is_beyond(candidate.value);
    return is_bounded_away(candidate.index, {Duration::picoseconds(candidate.bound_ps).seconds(),
                                             Bytes{candidate.memory}});
  }
  [[nodiscard]] bool is_bounded_away(std::uint64_t index, const PlanPoint& bound) const {
    const PlanSetting& setting = setting_of(index);
    if (options_.pareto.empty()) return is_beyond(objective(bound, setting));
    return is_dominated(bound, setting);
  }

  struct Work {
    Candidate candidate;
    bool simulates = false;  // else its program is bounded
    // What came of it.
    std::optional<Candidate> refined{};
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
      if (must_stop() || is_out_of_budget()) {
        for (const Work& work : batch) refined_.push(work.candidate);
        result_.complete = false;
        return;
      }
      in_parallel(
          batch.size(), [&](std::size_t i) { work_on(batch[i]); }, options_.threads);
      for (Work& work : batch) settle(work);
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
      const Candidate candidate = old ? refined_.top() : candidates_[next_];
      if (options_.pareto.empty() && is_beyond(candidate.value)) break;
      if (old) {
        refined_.pop();
      } else {
        ++next_;
      }
      if (is_bounded_away(candidate)) continue;
      out.push_back({candidate, old});
    }
    return out;
  }

  void work_on(Work& work) {
    const double begin = cpu_seconds();
    const std::uint64_t index = work.candidate.index;
    const auto found = known_.find(index);
    if (found != known_.end() && work.simulates) {
      work.simulated = found->second;
      return;
    }
    ContextPool::Lent context{pool_, static_cast<std::size_t>(index / space_.layout_count())};
    const auto layout = context->walk.at(index);
    const ParallelConfig& parallel = std::get<ParallelConfig>(layout);
    const std::string stack = context->walk.stack();
    if (work.simulates) {
      simulate_layout(*context, parallel, stack, work);
    } else {
      refine(*context, parallel, stack, work);
    }
    work.cpu_s = cpu_seconds() - begin;
  }

  void refine(ContextPool::Context& context, const ParallelConfig& parallel,
              const std::string& stack, Work& work) const {
    const PlanSetting& setting = context.setting;
    const Program program =
        build_program(setting.scenario().model, parallel, setting.gpus_per_node());
    Candidate finer = work.candidate;
    const Duration bound =
        program_bound(program, setting.cost(stack), context.bounds.operations(stack));
    finer.bound_ps = std::max(finer.bound_ps, bound.ps());
    const PlanPoint least{Duration::picoseconds(finer.bound_ps).seconds(), Bytes{finer.memory}};
    if (!may_hold(least, setting)) {
      work.no_limit = true;
      return;
    }
    finer.value = objective(least, setting);
    work.refined = finer;
  }

  void simulate_layout(ContextPool::Context& context, const ParallelConfig& parallel,
                       const std::string& stack, Work& work) const {
    const PlanSetting& setting = context.setting;
    const Scenario& scenario = setting.scenario();
    try {
      const Program program = build_program(scenario.model, parallel, setting.gpus_per_node());
      const RolePrograms roles = unroll(program);
      const auto capacity = setting.memory_capacity();
      if (capacity && peak_in_order(roles) > *capacity) {
        work.no_memory = true;
        return;
      }
      const TrainingStepOutcome step =
          context.simulator(stack).outcome(program, roles, parallel, setting.cost(stack));
      work.simulated = SimulatedLayout{work.candidate.index,
                                       Duration::picoseconds(work.candidate.bound_ps).seconds(),
                                       step.step.seconds(),
                                       step.step,
                                       step.peak_memory,
                                       !capacity || step.peak_memory <= *capacity,
                                       true,
                                       Bytes{work.candidate.memory}};
    } catch (const ProgramStuck&) {
      work.impossible = true;
    } catch (const TrainingStepTooLarge&) {
      work.impossible = true;
    }
  }

  void settle(Work& work) {
    SearchCertificate& certificate = result_.certificate;
    const std::uint64_t index = work.candidate.index;
    (work.simulates ? certificate.simulating_s : certificate.bounding_s) += work.cpu_s;
    if (work.refined) {
      refined_.push(*work.refined);
      ++refinements_;
      return;
    }
    settled_.insert(index);
    if (work.simulated) {
      note(*work.simulated);
      return;
    }
    using Why = DroppedLayout::Why;
    const Why why =
        work.no_memory ? Why::memory : (work.no_limit ? Why::limits : Why::not_simulated);
    result_.dropped.push_back({index, Duration::picoseconds(work.candidate.bound_ps).seconds(),
                               Bytes{work.candidate.memory}, why});
  }

  void note(SimulatedLayout layout) {
    const PlanSetting& setting = setting_of(layout.index);
    const PlanPoint point{layout.step_s, layout.memory};
    layout.holds = holds(point, setting);
    const bool is_new = !known_.contains(layout.index);
    if (is_new && options_.on_simulated) options_.on_simulated(layout);
    if (is_new) ++simulations_;
    result_.all.push_back(layout);
    if (!layout.fits || !layout.holds) return;
    if (options_.pareto.empty()) {
      best_.insert({objective(point, setting), layout.index, layout});
      while (best_.size() > options_.top) best_.erase(std::prev(best_.end()));
    } else if (!is_dominated(point, setting)) {
      add_to_front(layout, point, setting);
    }
  }

  void add_to_front(const SimulatedLayout& layout, const PlanPoint& point,
                    const PlanSetting& setting) {
    Front next{layout, {}};
    for (const PlanMetric metric : options_.pareto)
      next.scores.push_back(score(metric, point, setting));
    std::erase_if(front_, [&](const Front& each) {
      bool worse = false;
      for (std::size_t i = 0; i < next.scores.size(); ++i) {
        if (each.scores[i] < next.scores[i]) return false;
        worse = worse || each.scores[i] > next.scores[i];
      }
      return worse;
    });
    front_.push_back(std::move(next));
  }

  // The end.

  void conclude() {
    SearchCertificate& certificate = result_.certificate;
    if (options_.pareto.empty()) {
      for (const Best& each : best_) result_.best.push_back(each.layout);
    } else {
      std::sort(front_.begin(), front_.end(), [](const Front& a, const Front& b) {
        return a.scores != b.scores ? a.scores < b.scores : a.layout.index < b.layout.index;
      });
      for (const Front& each : front_) result_.best.push_back(each.layout);
    }
    std::sort(result_.all.begin(), result_.all.end(),
              [](const SimulatedLayout& a, const SimulatedLayout& b) { return a.index < b.index; });
    std::sort(result_.dropped.begin(), result_.dropped.end(),
              [](const DroppedLayout& a, const DroppedLayout& b) { return a.index < b.index; });
    count_decided();
    certificate.refined = refinements_;
    if (!result_.complete) note_undecided();
    std::uint64_t decided = certificate.memory + certificate.limits + certificate.simulated +
                            certificate.not_simulated + certificate.undecided;
    for (const std::uint64_t rule : certificate.rules) decided += rule;
    certificate.bounded = certificate.points - std::min(decided, certificate.points);
  }

  /// Which of the points that were looked at their bounds do not decide by now.
  void count_decided() {
    SearchCertificate& certificate = result_.certificate;
    certificate.memory = result_.memory_by_bound;
    certificate.limits = result_.limits_by_bound;
    const auto counts = [&](const auto& layout) {
      return !is_bounded_away(layout.index, {layout.bound_s, layout.bound_memory});
    };
    certificate.simulated =
        static_cast<std::uint64_t>(std::count_if(result_.all.begin(), result_.all.end(), counts));
    for (const DroppedLayout& layout : result_.dropped) {
      if (!counts(layout)) continue;
      using Why = DroppedLayout::Why;
      if (layout.why == Why::memory) {
        const std::size_t layouts = result_.cells.size() / settings_.size();
        const std::uint64_t points = space_.layout_count() / layouts;
        ++result_.cells[static_cast<std::size_t>(layout.index / points)].memory;
      }
      ++(layout.why == Why::memory   ? certificate.memory
         : layout.why == Why::limits ? certificate.limits
                                     : certificate.not_simulated);
    }
  }

  /// What is left where a budget or an interruption ended the search.
  void note_undecided() {
    std::optional<double> least;
    const auto add = [&](const Candidate& each) {
      if (is_bounded_away(each)) return;
      ++result_.certificate.undecided;
      least = least ? std::min(*least, each.value) : each.value;
    };
    for (std::size_t i = next_; i < candidates_.size(); ++i) add(candidates_[i]);
    for (; !refined_.empty(); refined_.pop()) add(refined_.top());
    result_.certificate.open_bound = least;
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  [[nodiscard]] bool must_stop() const {
    if (options_.most_seconds && seconds() >= *options_.most_seconds) return true;
    return options_.stop && options_.stop();
  }
  [[nodiscard]] bool is_out_of_budget() const {
    return options_.most_simulated && simulations_ >= *options_.most_simulated;
  }

  void report() {
    if (!options_.on_progress) return;
    SearchProgress progress;
    progress.points = result_.certificate.points;
    progress.simulated = simulations_;
    progress.enumerated = enumerated_;
    progress.decided =
        progress.points -
        std::min<std::uint64_t>(progress.points, candidates_.size() - next_ + refined_.size());
    if (!best_.empty()) {
      progress.incumbent = best_.begin()->value;
      const double open = refined_.empty() ? best_.begin()->value : refined_.top().value;
      progress.gap = std::max(0.0, 1 - open / best_.begin()->value);
    }
    options_.on_progress(progress);
  }

  struct Best {
    double value = 0;
    std::uint64_t index = 0;
    SimulatedLayout layout{};

    friend bool operator<(const Best& a, const Best& b) {
      return a.value != b.value ? a.value < b.value : a.index < b.index;
    }
  };
  struct Front {
    SimulatedLayout layout;
    std::vector<double> scores{};
  };

  const PlanSpace& space_;
  const std::vector<std::unique_ptr<PlanSetting>>& settings_;
  const SearchOptions& options_;
  ContextPool pool_;
  PointRange range_;
  std::chrono::steady_clock::time_point begin_;
  std::map<std::uint64_t, SimulatedLayout> known_;
  std::vector<Candidate> candidates_;  // sorted
  std::size_t next_ = 0;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> refined_;
  std::set<std::uint64_t> settled_;
  std::optional<double> trimmed_;
  std::set<Best> best_;
  std::vector<Front> front_;
  std::uint64_t refinements_ = 0;
  std::uint64_t simulations_ = 0;
  std::atomic<std::uint64_t> decided_{0};
  bool enumerated_ = false;
  SearchResult result_;
};

}  // namespace

SearchResult search_space(const PlanSpace& space,
                          const std::vector<std::unique_ptr<PlanSetting>>& settings,
                          const SearchOptions& options) {
  return Search{space, settings, options}.run();
}

}  // namespace lockstep::app
