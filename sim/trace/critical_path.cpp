#include "sim/trace/critical_path.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep {

namespace {

/// Walks from the end of the step to its start.
class Walk {
 public:
  explicit Walk(const Peers& peers) : peers_{&peers}, at_{peers.timeline().end} {
    for (const RankTimeline& rank : peers.timeline().ranks) steps_left_ += rank.operations.size();
  }

  [[nodiscard]] std::vector<PathSegment> path() {
    std::optional<Place> place = last_operation();
    if (place) wait_until(peers_->interval(*place).end, place->rank);
    while (place && at_ > TimePoint{} && steps_left_ > 0) {
      --steps_left_;  // an end even where communication was matched in a ring of no length
      const Place reason = pass(*place);
      const std::optional<Place> cause = peers_->before(reason);
      const TimePoint since = cause ? peers_->interval(*cause).end : TimePoint{};
      const bool by_host = peers_->bound_by_host(reason);
      if (by_host) add(since, reason.rank, reason.operation, TimeUse::issue());
      if (cause) wait_until(since, reason.rank, reason.operation);
      rank_ = reason.rank;
      place = cause;
    }
    wait_until(TimePoint{}, rank_);
    std::reverse(out_.begin(), out_.end());
    return std::move(out_);
  }

 private:
  /// The last to end; of several the first rank's, and of that the last issued.
  [[nodiscard]] std::optional<Place> last_operation() const {
    std::optional<Place> last;
    TimePoint known;
    const std::vector<RankTimeline>& ranks = peers_->timeline().ranks;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (std::uint32_t j = 0; j < ranks[i].operations.size(); ++j) {
        const TimePoint end = ranks[i].operations.end_of(j);
        if (last && (end < known || (end == known && last->rank != i))) continue;
        last = Place{i, j};
        known = end;
      }
    }
    return last;
  }

  /// Adds the operation's part of the path; returns what it began with: the operation itself, or
  /// the other end that came last.
  [[nodiscard]] Place pass(Place place) {
    const Operation& operation = *peers_->operation(place).operation;
    if (!is_communication(operation)) {
      add(peers_->interval(place).start, place.rank, place.operation,
          TimeUse::computation(class_of(operation.kind)));
      return place;
    }
    const Place latest = peers_->latest(place);
    add(peers_->interval(latest).start, place.rank, place.operation,
        TimeUse::communication(peers_->group(operation)));
    return latest;
  }

  void wait_until(TimePoint from, std::size_t rank,
                  std::optional<std::uint32_t> operation = std::nullopt) {
    add(from, rank, operation, TimeUse::waiting());
  }

  void add(TimePoint from, std::size_t rank, std::optional<std::uint32_t> operation, TimeUse use) {
    if (from >= at_) return;
    out_.push_back({rank, std::move(use), {from, at_}, operation});
    at_ = from;
  }

  const Peers* peers_;
  TimePoint at_;  // the path is known from here on
  std::size_t rank_ = 0;
  std::size_t steps_left_ = 0;
  std::vector<PathSegment> out_;
};

}  // namespace

std::vector<PathSegment> critical_path(const Peers& peers) {
  return Walk{peers}.path();
}

std::vector<PathShare> shares(const std::vector<PathSegment>& path) {
  std::map<TimeUse, PathShare> by_use;
  for (const PathSegment& segment : path) {
    PathShare& share = by_use[segment.use];
    share.length += segment.interval.end - segment.interval.start;
    share.operations += segment.operation.has_value() ? 1 : 0;
  }
  std::vector<PathShare> out;
  for (auto& [use, share] : by_use) {
    share.use = use;
    out.push_back(share);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const PathShare& a, const PathShare& b) { return a.length > b.length; });
  return out;
}

std::vector<PathOperation> operations(const std::vector<PathSegment>& path,
                                      const TrainingStepTimeline& timeline) {
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t, TimeUse::Kind>, PathOperation> found;
  for (const PathSegment& segment : path) {
    if (!segment.operation || segment.use.kind == TimeUse::Kind::waiting) continue;
    const std::size_t role = timeline.ranks[segment.rank].role;
    const RoleOperation& one = timeline.roles[role].operations[*segment.operation];
    PathOperation& out =
        found
            .try_emplace({role, one.call.routine, one.index_in_routine, segment.use.kind},
                         PathOperation{segment.rank, *segment.operation, segment.use.kind, {}})
            .first->second;
    out.length += segment.interval.end - segment.interval.start;
    ++out.instances;
  }
  std::vector<PathOperation> out;
  for (const auto& [key, operation] : found) out.push_back(operation);
  return out;
}

std::vector<PathLeg> legs(const std::vector<PathSegment>& path) {
  std::vector<PathLeg> out;
  for (auto first = path.begin(); first != path.end();) {
    const auto end = std::find_if(first, path.end(), [&](const PathSegment& segment) {
      return segment.rank != first->rank || segment.use.kind != first->use.kind ||
             segment.use.group != first->use.group;
    });
    const std::vector<PathShare> within = shares({first, end});
    PathLeg leg{
        first->rank, within.front().use, {first->interval.start, std::prev(end)->interval.end}};
    for (const PathShare& share : within) leg.operations += share.operations;
    out.push_back(leg);
    first = end;
  }
  return out;
}

}  // namespace lockstep
