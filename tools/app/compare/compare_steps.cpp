#include "tools/app/compare/compare_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/error.hpp"
#include "sim/trace/critical_path.hpp"
#include "sim/trace/peers.hpp"
#include "tools/app/parallel.hpp"
#include "tools/app/plan/regime.hpp"
#include "tools/app/step/requested_scenario.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kMostSequenceSimulations = 64;

template <class Row>
void sort_by_difference(std::vector<Row>& rows) {
  const auto size = [](const Row& row) {
    const std::int64_t ps = (row.b - row.a).ps();
    return ps < 0 ? -ps : ps;
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row& x, const Row& y) { return size(x) > size(y); });
}

[[nodiscard]] std::vector<UseDifference> uses_of(const TrainingStepSummary& a,
                                                 const TrainingStepSummary& b) {
  std::map<TimeUse, UseDifference> all;
  for (const PathShare& share : a.path) all[share.use].a += share.length;
  for (const PathShare& share : b.path) all[share.use].b += share.length;
  std::vector<UseDifference> out;
  for (auto& [use, row] : all) {
    row.use = use;
    out.push_back(row);
  }
  sort_by_difference(out);
  return out;
}

using PlaceKey = std::tuple<std::string, std::string, TimeUse>;

void add_places(const TrainingStepTimeline& timeline, Duration PlaceDifference::*side,
                std::map<PlaceKey, PlaceDifference>& out) {
  const Peers peers{timeline};
  for (const PathSegment& segment : critical_path(peers)) {
    const RankTimeline& rank = timeline.ranks[segment.rank];
    const RoleProgram& role = timeline.roles[rank.role];
    std::string block;
    if (segment.operation)
      block = timeline.program->routines[role.operations[*segment.operation].call.routine].name;
    PlaceKey key{timeline.program->roles[rank.role].name, block, segment.use};
    PlaceDifference& row = out[key];
    std::tie(row.role, row.block, row.use) = key;
    row.*side += segment.interval.end - segment.interval.start;
  }
}

[[nodiscard]] std::vector<PlaceDifference> places_of(const TrainingStepResult& a,
                                                     const TrainingStepResult& b) {
  if (a.averaging || b.averaging) return {};
  std::map<PlaceKey, PlaceDifference> all;
  add_places(a.step.timeline, &PlaceDifference::a, all);
  add_places(b.step.timeline, &PlaceDifference::b, all);
  std::vector<PlaceDifference> out;
  for (auto& [key, row] : all) out.push_back(std::move(row));
  sort_by_difference(out);
  return out;
}

/// Step times of A with subsets of the changes, as bit masks.
class Between {
 public:
  Between(const CompareRequest& request, const CompareResult& ends) : request_{request} {
    changes_ = changes_between(ends.a.scenario.resolved, ends.b.scenario.resolved);
    a_ = ends.a.scenario.resolved;
    scenario_changes_ = changes_.size();
    if (request.options_differ) changes_.emplace_back();
    times_[0] = ends.step_a();
    times_[all()] = ends.step_b();
  }

  [[nodiscard]] const std::vector<ScenarioChange>& changes() const { return changes_; }
  [[nodiscard]] std::uint64_t all() const {
    return (std::uint64_t{1} << std::min<std::size_t>(changes_.size(), 63)) - 1;
  }
  [[nodiscard]] std::size_t simulations() const { return simulations_; }

  /// None if there is no such scenario or it deadlocks.
  [[nodiscard]] std::optional<Duration> time(std::uint64_t mask) {
    const auto known = times_.find(mask);
    if (known != times_.end()) return known->second;
    ++simulations_;
    return times_[mask] = simulated(mask);
  }
  void simulate_all() {
    std::vector<std::uint64_t> masks;
    for (std::uint64_t mask = 0; mask <= all(); ++mask)
      if (!times_.contains(mask)) masks.push_back(mask);
    std::vector<std::optional<Duration>> found(masks.size());
    in_parallel(masks.size(), [&](std::size_t i) { found[i] = simulated(masks[i]); });
    for (std::size_t i = 0; i < masks.size(); ++i) times_[masks[i]] = found[i];
    simulations_ += masks.size();
  }

 private:
  [[nodiscard]] std::optional<Duration> simulated(std::uint64_t mask) const {
    const bool options_of_b = (mask >> scenario_changes_ & 1U) != 0;
    TrainingStepRequest request = for_comparison(options_of_b ? request_.b : request_.a);
    const std::string file = request.document ? request.document->file : request.file;
    request.document = JsonDocument{file, with_changes(a_, changes_, mask)};
    request.overrides.clear();
    request.nic.reset();  // the document has it
    try {
      return run_step(request).throughput.step;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      return std::nullopt;
    }
  }

  const CompareRequest& request_;
  JsonValue a_;
  std::vector<ScenarioChange> changes_{};
  std::size_t scenario_changes_ = 0;
  std::map<std::uint64_t, std::optional<Duration>> times_{};
  std::size_t simulations_ = 0;
};

[[nodiscard]] double factorial(std::size_t n) {
  double out = 1;
  for (std::size_t i = 2; i <= n; ++i) out *= static_cast<double>(i);
  return out;
}

[[nodiscard]] std::size_t bits_of(std::uint64_t mask) {
  std::size_t out = 0;
  for (; mask != 0; mask &= mask - 1) ++out;
  return out;
}

/// False if a scenario between is impossible.
[[nodiscard]] bool add_shapley(Between& between, CompareResult& out) {
  between.simulate_all();
  const std::size_t n = between.changes().size();
  for (std::uint64_t mask = 0; mask <= between.all(); ++mask)
    if (!between.time(mask)) return false;
  for (std::size_t i = 0; i < n; ++i) {
    ChangeEffect effect{between.changes()[i]};
    const std::uint64_t bit = std::uint64_t{1} << i;
    for (std::uint64_t mask = 0; mask <= between.all(); ++mask) {
      if ((mask & bit) != 0) continue;
      const std::size_t before = bits_of(mask);
      const double weight = factorial(before) * factorial(n - before - 1) / factorial(n);
      effect.seconds += weight * (*between.time(mask | bit) - *between.time(mask)).seconds();
    }
    effect.alone_s = (*between.time(bit) - *between.time(0)).seconds();
    out.effects.push_back(std::move(effect));
  }
  std::ranges::stable_sort(out.effects, std::ranges::greater{}, [](const ChangeEffect& each) {
    return each.seconds < 0 ? -each.seconds : each.seconds;
  });
  out.attribution = Attribution::shapley;
  return true;
}

/// The first order of changes, depth first, whose scenarios are all possible.
[[nodiscard]] bool find_sequence(Between& between, std::uint64_t mask,
                                 std::vector<std::size_t>& order) {
  if (mask == between.all()) return true;
  if (between.simulations() > kMostSequenceSimulations) return false;
  for (std::size_t i = 0; i < between.changes().size(); ++i) {
    const std::uint64_t next = mask | std::uint64_t{1} << i;
    if (next == mask || !between.time(next)) continue;
    order.push_back(i);
    if (find_sequence(between, next, order)) return true;
    order.pop_back();
  }
  return false;
}

void add_sequence(Between& between, CompareResult& out) {
  std::vector<std::size_t> order;
  if (between.changes().size() > kMostSequenceSimulations - 1 ||
      !find_sequence(between, 0, order)) {
    ChangeEffect effect;
    for (const ScenarioChange& each : between.changes())
      effect.change.keys.insert(effect.change.keys.end(), each.keys.begin(), each.keys.end());
    effect.seconds = (out.step_b() - out.step_a()).seconds();
    out.effects.push_back(std::move(effect));
    out.attribution = Attribution::joint;
    return;
  }
  std::uint64_t mask = 0;
  for (const std::size_t i : order) {
    const std::uint64_t next = mask | std::uint64_t{1} << i;
    out.effects.push_back(
        {between.changes()[i], (*between.time(next) - *between.time(mask)).seconds()});
    mask = next;
  }
  out.attribution = Attribution::sequence;
}

/// The fidelity of both, also of the scenarios between them.
void make_alike(CompareRequest& request, CompareResult& out) {
  const Fidelity a = out.a.step.fidelity;
  const Fidelity b = out.b.step.fidelity;
  request.a.simulation.fidelity = request.b.simulation.fidelity =
      a == b ? a : Fidelity::representatives;
  if (a == b) return;
  const bool is_a = a == Fidelity::all_ranks;
  (is_a ? out.a : out.b) = run_step(is_a ? request.a : request.b);
}

void attribute(const CompareRequest& request, CompareResult& out) {
  Between between{request, out};
  if (between.changes().empty() || request.shapley_changes == 0) return;
  const std::size_t most = std::min(request.shapley_changes, kMostShapleyChanges);
  if (between.changes().size() > most || !add_shapley(between, out)) add_sequence(between, out);
  out.simulations = between.simulations();
}

}  // namespace

CompareResult compare_steps(const CompareRequest& request) {
  const auto step = [&](TrainingStepRequest of, const char* name) {
    if (request.on_phase)
      of.on_phase = [&, name](Phase phase) {
        if (!phase.name.empty()) phase.name += fmt::format(" ({})", name);
        request.on_phase(phase);
      };
    return run_step(of);
  };
  CompareResult out{step(request.a, "A"), step(request.b, "B"), {}, {}};
  CompareRequest fixed = request;
  const bool chosen = request.a.simulation.fidelity == Fidelity::automatic &&
                      request.b.simulation.fidelity == Fidelity::automatic;
  if (request.same_fidelity && chosen) make_alike(fixed, out);
  out.regime_a = regime_of(out.a.summary.busiest);
  out.regime_b = regime_of(out.b.summary.busiest);
  out.uses = uses_of(out.a.summary, out.b.summary);
  out.places = places_of(out.a, out.b);
  if (request.on_phase) request.on_phase({"simulating the scenarios between"});
  attribute(fixed, out);
  return out;
}

}  // namespace lockstep::app
