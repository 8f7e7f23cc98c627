#include "tools/lockstep/step_figures/step_tracks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/trace/peers.hpp"
#include "tools/lockstep/step_figures/link_loads.hpp"
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
    const Interval interval = rank.operations[i];
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

/// Slices of one part: the share of a link in use.
std::vector<TrackSlice> slices_of(const std::vector<double>& use) {
  Divided amounts(1, 1);
  const double width = 1.0 / kDivisions;
  for (std::size_t i = 0; i < use.size(); ++i)
    amounts.add(width * static_cast<double>(i), width * static_cast<double>(i + 1), 0, use[i]);
  return amounts.slices();
}

/// The mean of all links of a kind that carry any traffic, in order of kind.
void add_kinds(const Cluster& cluster, const StepLinkLoads& loads, std::vector<TrackRow>& rows) {
  struct Kind {
    std::vector<double> use;
    double mean = 0;
    std::size_t links = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const LinkLoad& load : loads.links) {
    Kind& kind = kinds[kind_of_link(cluster, load.link)];
    kind.use.resize(load.use.size(), 0);
    for (std::size_t i = 0; i < load.use.size(); ++i) kind.use[i] += load.use[i];
    kind.mean += load.mean;
    ++kind.links;
  }
  for (auto& [name, kind] : kinds) {
    for (double& use : kind.use) use /= static_cast<double>(kind.links);
    rows.push_back({fmt::format("all {}", name),
                    fmt::format("mean of {} links, busy for {:.1f} % of the step", kind.links,
                                100 * kind.mean / static_cast<double>(kind.links)),
                    slices_of(kind.use)});
  }
}

TrackFigure link_tracks(const TrainingStepResult& result, const StepLinkLoads& loads,
                        TrackFigure out) {
  const Cluster& cluster = result.scenario.cluster.cluster;
  out.parts = {{"share of the bandwidth in use", "#1f5fa8", figures::Pattern::plain}};
  add_kinds(cluster, loads, out.rows);
  std::vector<const LinkLoad*> busiest;
  for (const LinkLoad& load : loads.links) busiest.push_back(&load);
  std::ranges::stable_sort(busiest, std::ranges::greater{}, &LinkLoad::mean);
  busiest.resize(std::min(kMostLinks, busiest.size()));
  for (const LinkLoad* const load : busiest)
    out.rows.push_back({cluster.link_name(load->link),
                        fmt::format("busy for {:.1f} % of the step", 100 * load->mean),
                        slices_of(load->use)});
  out.notes.push_back(
      fmt::format("The means of all links of a kind, then the {} links with the most traffic of {} "
                  "that carry any.",
                  busiest.size(), loads.links.size()));
  if (!loads.by_transfer)
    out.notes.emplace_back("The rates of a communication are averaged over its time.");
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
    of->second.add(seconds(peers.transfer_start({index, i})), seconds(rank.operations.end_of(i)),
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
    out.notes.push_back(
        fmt::format("Loads of single links over time are shown up to {} ranks.", kMostLinkRanks));
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
  const StepLinkLoads loads = link_loads(result, kDivisions);
  return loads.links.empty() ? group_tracks(result, std::move(out))
                             : link_tracks(result, loads, std::move(out));
}

}  // namespace lockstep::cli
