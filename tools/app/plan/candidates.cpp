#include "tools/app/plan/candidates.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "tools/app/parallel.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kMostKept = 4'000'000;  // candidates that are held at once

/// Ends a walk.
struct Stopped {};

/// Adds what another part of the points came to.
void merge(const CandidateList& part, CandidateList& into) {
  for (std::size_t rule = 0; rule < kPlanRules; ++rule) into.rules[rule] += part.rules[rule];
  into.memory += part.memory;
  into.limits += part.limits;
  into.bounds += part.bounds;
  into.cpu_s += part.cpu_s;
  into.unvisited += part.unvisited;
  into.complete = into.complete && part.complete;
  if (part.left_out)
    into.left_out = std::min(into.left_out.value_or(*part.left_out), *part.left_out);
  into.kept.insert(into.kept.end(), part.kept.begin(), part.kept.end());
}

}  // namespace

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

CandidateFinder::CandidateFinder(const PlanSpace& space,
                                 const std::vector<std::unique_ptr<PlanSetting>>& settings,
                                 const SearchOptions& options, const BestLayouts& best,
                                 PlanContexts& contexts, PointRange range,
                                 std::function<bool()> must_stop)
    : space_{space},
      settings_{settings},
      options_{options},
      best_{best},
      contexts_{contexts},
      range_{range},
      must_stop_{std::move(must_stop)} {}

std::vector<CandidateFinder::Slice> CandidateFinder::parts() const {
  std::vector<Slice> out;
  for (std::size_t setting = 0; setting < settings_.size(); ++setting)
    for (std::size_t tp = 0; tp < space_.axis(LayoutKey::tp).values.size(); ++tp)
      for (std::size_t pp = 0; pp < space_.axis(LayoutKey::pp).values.size(); ++pp)
        out.push_back({setting, tp, pp});
  return out;
}

CandidateList CandidateFinder::find(const Skips& skips) {
  const std::vector<Slice> all = parts();
  std::vector<SliceCandidates> found(all.size());
  const std::size_t room = std::max<std::size_t>(1000, kMostKept / all.size());
  const std::uint64_t points = space_.layout_count() / (all.size() / settings_.size());
  done_ = 0;
  in_parallel(
      all.size(),
      [&](std::size_t i) {
        found[i] = find_in(all[i], {i * points, (i + 1) * points}, room, skips);
        report(i * points, points);
      },
      options_.threads);
  CandidateList out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    merge(found[i].list, out);
    out.cells.push_back(cell(all[i], i * points, found[i]));
    found[i] = {};
  }
  std::sort(out.kept.begin(), out.kept.end());
  return out;
}

SearchCell CandidateFinder::cell(const Slice& part, std::uint64_t first,
                                 const SliceCandidates& found) const {
  const std::uint64_t points = space_.layout_count() / (space_.axis(LayoutKey::tp).values.size() *
                                                        space_.axis(LayoutKey::pp).values.size());
  const CandidateList& of = found.list;
  SearchCell out{part.setting, part.tp,   part.pp,   range_.overlap(first, points),
                 of.rules,     of.memory, of.limits, found.least};
  const PlanMetric metric = options_.pareto.empty() ? options_.objective : options_.pareto.front();
  if (out.bound && !info_of(metric).less_is_better) out.bound = -*out.bound;
  return out;
}

CandidateFinder::SliceCandidates CandidateFinder::find_in(const Slice& part, PointRange points,
                                                          std::size_t room, const Skips& skips) {
  SliceCandidates out;
  const std::uint64_t all = range_.overlap(points.begin, points.end - points.begin);
  if (must_stop_()) {
    out.list.complete = all == 0;
    out.list.unvisited = all;
    return out;
  }
  const double begin = thread_cpu_seconds();
  PlanContexts::Lent context{contexts_, part.setting};
  const auto take_layout = [&](const WalkedLayout& layout) {
    if (must_stop_()) throw Stopped{};
    take(*context, layout, skips, out);
    if (out.list.kept.size() >= 2 * room) trim(out.list, room);
  };
  try {
    context->walk.run(part.tp, part.pp, range_, take_layout, out.list.rules);
  } catch (const Stopped&) {
    out.list.complete = false;
    std::uint64_t visited = out.list.bounds;
    for (const std::uint64_t dropped : out.list.rules) visited += dropped;
    out.list.unvisited = all - std::min(all, visited);
  }
  if (out.list.kept.size() > room) trim(out.list, room);
  out.list.cpu_s = thread_cpu_seconds() - begin;
  return out;
}

void CandidateFinder::take(PlanContext& context, const WalkedLayout& layout, const Skips& skips,
                           SliceCandidates& out) const {
  CandidateList& list = out.list;
  LayoutBounds& bounds = context.bounds.of(*layout.stack);
  ++list.bounds;
  const auto capacity = context.setting.memory_capacity();
  const auto [at_full_speed, memory] = bounds.of(*layout.parallel, capacity);
  const Duration time = context.setting.with_ranks_as_they_are(at_full_speed);
  if (capacity && memory > *capacity) {
    ++list.memory;
    return;
  }
  const PlanPoint least{time.seconds(), memory};
  if (!may_hold(options_.limits, least, context.setting, options_.prices)) {
    ++list.limits;
    return;
  }
  const PlanCandidate candidate{best_.rank_of(layout.index, least), time.ps(), memory.count()};
  out.least = std::min(out.least.value_or(candidate.rank.value), candidate.rank.value);
  if (!skips(candidate.rank)) list.kept.push_back(candidate);
}

void CandidateFinder::report(std::uint64_t first, std::uint64_t count) {
  if (!report_) return;
  const std::lock_guard lock(mutex_);
  done_ += range_.overlap(first, count);
  report_(done_);
}

/// Keeps the first.
void CandidateFinder::trim(CandidateList& list, std::size_t room) {
  const auto end = list.kept.begin() + static_cast<std::ptrdiff_t>(room);
  std::nth_element(list.kept.begin(), end, list.kept.end());
  list.left_out = std::min(list.left_out.value_or(end->rank), end->rank);
  list.kept.resize(room);
}

}  // namespace lockstep::app
