#include "tools/lockstep/step_figures/step_tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/trace/peers.hpp"
#include "tools/lockstep/step_figures/time_look.hpp"

namespace lockstep::cli {

namespace {

using figures::TrackFigure;
using figures::TrackRow;
using figures::TrackSlice;

constexpr std::size_t kDivisions = 500;
constexpr std::size_t kMostRows = 24;
constexpr std::size_t kMostLinks = 8;
constexpr double kLeast = 0.01;  // of a division: less is not drawn
constexpr double kHeights = 8;   // of height, so that equal neighbors become one

/// Amounts by division of the time and by part.
class Divided {
 public:
  Divided(double end, std::size_t parts)
      : end_{end > 0 ? end : 1}, parts_{parts}, amounts_(kDivisions * parts, 0) {}

  /// `weight` per second from `from` to `to`, both in seconds.
  void add(double from, double to, std::size_t part, double weight = 1) {
    const double width = end_ / kDivisions;
    const auto first = static_cast<std::size_t>(std::clamp(from / width, 0.0, kDivisions - 1.0));
    for (std::size_t i = first; i < kDivisions; ++i) {
      const double begin = width * static_cast<double>(i);
      if (begin >= to) break;
      const double shared = std::min(to, begin + width) - std::max(from, begin);
      if (shared > 0) amounts_[i * parts_ + part] += weight * shared / width;
    }
  }

  /// Of each division the part with the largest amount; its height is that of all parts.
  [[nodiscard]] std::vector<TrackSlice> slices() const {
    std::vector<TrackSlice> out;
    for (std::size_t i = 0; i < kDivisions; ++i) {
      const auto begin = amounts_.begin() + static_cast<std::ptrdiff_t>(i * parts_);
      const auto end = begin + static_cast<std::ptrdiff_t>(parts_);
      double sum = 0;
      for (auto at = begin; at != end; ++at) sum += *at;
      if (sum < kLeast) continue;
      const auto part = static_cast<std::size_t>(std::max_element(begin, end) - begin);
      const double height = std::ceil(std::min(1.0, sum) * kHeights - 1e-9) / kHeights;
      if (!out.empty() && out.back().last == i && out.back().part == part &&
          out.back().height == height) {
        out.back().last = i + 1;
      } else {
        out.push_back({i, i + 1, part, height});
      }
    }
    return out;
  }

  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double each : amounts_) sum += each;
    return sum / kDivisions;
  }

 private:
  double end_;
  std::size_t parts_;
  std::vector<double> amounts_;
};

/// Parts of a figure in the order in which they first come.
class Parts {
 public:
  std::size_t of(figures::BarPart part) {
    const auto found = std::ranges::find(parts_, part.name, &figures::BarPart::name);
    if (found != parts_.end()) return static_cast<std::size_t>(found - parts_.begin());
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  }
  [[nodiscard]] const std::vector<figures::BarPart>& all() const { return parts_; }

 private:
  std::vector<figures::BarPart> parts_{};
};

constexpr std::size_t kMostParts = 16;

figures::BarPart look_of(const Operation& operation, const Peers& peers) {
  if (is_communication(operation)) return part_of(TimeUse::communication(peers.group(operation)));
  return part_of(TimeUse::computation(class_of(operation.kind)));
}

double seconds(TimePoint at) {
  return at.since_start().seconds();
}

std::string name_of_rank(const TrainingStepTimeline& timeline, std::size_t index) {
  const RankTimeline& rank = timeline.ranks[index];
  const Program& program = *timeline.program;
  const std::string& role = program.roles[rank.role].name;
  const int ranks = program.mesh.ranks();
  const std::string name = rank.rank < ranks ? fmt::format("rank {}", rank.rank)
                                             : fmt::format("host {}", rank.rank - ranks);
  return role.empty() || role == "rank" ? name : fmt::format("{}, {}", role, name);
}

/// The rows of a rank, one for each stream that it uses.
void add_rows(const Peers& peers, std::size_t index, Parts& parts, std::vector<TrackRow>& rows) {
  const TrainingStepTimeline& timeline = peers.timeline();
  const RankTimeline& rank = timeline.ranks[index];
  const RoleProgram& role = timeline.roles[rank.role];
  const double end = seconds(timeline.end);
  std::map<StreamId, Divided> streams;
  for (std::size_t i = 0; i < rank.operations.size(); ++i) {
    const Interval& interval = rank.operations[i];
    if (interval.end <= interval.start) continue;
    const Operation& operation = *role.operations[i].operation;
    const auto [of, is_new] = streams.try_emplace(operation.stream, end, kMostParts);
    const std::size_t part = std::min(parts.of(look_of(operation, peers)), kMostParts - 1);
    of->second.add(seconds(interval.start), seconds(interval.end), part);
  }
  for (const auto& [stream, amounts] : streams)
    rows.push_back(
        {fmt::format("{}: {}", name_of_rank(timeline, index), timeline.program->streams[stream]),
         fmt::format("in use for {:.1f} % of the step", 100 * amounts.mean()), amounts.slices()});
}

TrackFigure link_tracks(const TrainingStepResult& result, TrackFigure out) {
  struct Load {
    const LinkSeries* series;
    Divided amounts;
    double mean;
  };
  const Cluster& cluster = result.scenario.cluster.cluster;
  std::map<std::string, double> capacities;
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    const auto id = static_cast<LinkId>(i);
    capacities[cluster.link_name(id)] = cluster.link(id).figures.carried().bytes_per_second();
  }
  std::vector<Load> loads;
  for (const LinkSeries& series : result.step.links) {
    const auto capacity = capacities.find(series.name);
    if (capacity == capacities.end()) continue;
    Divided amounts(out.end, 1);
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const double until =
          i + 1 < series.points.size() ? seconds(series.points[i + 1].at) : out.end;
      if (series.points[i].bytes_per_second > 0)
        amounts.add(seconds(series.points[i].at), until, 0,
                    series.points[i].bytes_per_second / capacity->second);
    }
    const double mean = amounts.mean();
    loads.push_back({&series, std::move(amounts), mean});
  }
  std::ranges::stable_sort(loads, std::ranges::greater{}, &Load::mean);
  out.parts = {{"share of the bandwidth in use", "#1f5fa8", figures::Pattern::plain}};
  for (std::size_t i = 0; i < std::min(kMostLinks, loads.size()); ++i)
    out.rows.push_back({loads[i].series->name,
                        fmt::format("busy for {:.1f} % of the step", 100 * loads[i].mean),
                        loads[i].amounts.slices()});
  out.notes.push_back(fmt::format("The {} links with the most traffic of {} that carry any.",
                                  out.rows.size(), loads.size()));
  return out;
}

TrackFigure group_tracks(const TrainingStepResult& result, TrackFigure out) {
  const TrainingStepTimeline& timeline = result.step.timeline;
  const Peers peers(timeline);
  const std::size_t index = result.summary.busiest.rank;
  const RankTimeline& rank = timeline.ranks.at(index);
  const RoleProgram& role = timeline.roles[rank.role];
  std::map<std::string, Divided> groups;
  Parts parts;
  for (std::uint32_t i = 0; i < rank.operations.size(); ++i) {
    const Operation& operation = *role.operations[i].operation;
    if (!is_communication(operation)) continue;
    const std::string group = peers.group(operation);
    (void)parts.of(part_of(TimeUse::communication(group)));
    const auto [of, is_new] = groups.try_emplace(group, out.end, kMostParts);
    of->second.add(seconds(peers.transfer_start({index, i})), seconds(rank.operations[i].end),
                   parts.of(part_of(TimeUse::communication(group))));
  }
  for (const auto& [group, amounts] : groups)
    out.rows.push_back({group,
                        fmt::format("in transfer for {:.1f} % of the step", 100 * amounts.mean()),
                        amounts.slices()});
  out.parts = parts.all();
  out.notes.push_back(
      fmt::format("Of {}: how much of the time a message of each group is in transfer.",
                  name_of_rank(timeline, index)));
  if (!out.rows.empty())
    out.notes.push_back(fmt::format("Loads of single links over time are recorded up to {} ranks.",
                                    app::kFewRanks));
  return out;
}

}  // namespace

std::vector<std::size_t> ranks_to_show(const TrainingStepResult& result) {
  std::vector<std::size_t> out;
  for (const StageUse& stage : result.summary.stages) out.push_back(stage.rank.rank);
  for (std::size_t i = 0; i < result.step.timeline.ranks.size(); ++i)
    if (std::ranges::find(out, i) == out.end()) out.push_back(i);
  return out;
}

TrackFigure timeline_tracks(const TrainingStepResult& result, figures::Heading heading) {
  const TrainingStepTimeline& timeline = result.step.timeline;
  const Peers peers(timeline);
  TrackFigure out{std::move(heading), {}, {}, kDivisions, seconds(timeline.end), {}};
  Parts parts;
  const std::vector<std::size_t> ranks = ranks_to_show(result);
  const std::size_t stages = std::max<std::size_t>(1, result.summary.stages.size());
  std::size_t shown = 0;
  for (const std::size_t rank : ranks) {
    if (shown > 0 && (shown == stages || out.rows.size() >= kMostRows)) break;
    add_rows(peers, rank, parts, out.rows);
    ++shown;
  }
  out.parts = parts.all();
  out.notes.push_back(fmt::format(
      "A row per stream of the rank of each stage that computes longest{}: {} of {} simulated "
      "ranks. The height says how much of each {} of the step is in use, the fill by what mostly.",
      shown < stages ? fmt::format(" (the first {} of {} stages)", shown, stages) : "", shown,
      ranks.size(), "500th"));
  return out;
}

TrackFigure traffic_tracks(const TrainingStepResult& result, figures::Heading heading) {
  TrackFigure out{std::move(heading), {}, {}, kDivisions, seconds(result.step.timeline.end), {}};
  return result.step.links.empty() ? group_tracks(result, std::move(out))
                                   : link_tracks(result, std::move(out));
}

}  // namespace lockstep::cli
