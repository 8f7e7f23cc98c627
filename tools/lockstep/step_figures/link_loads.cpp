#include "tools/lockstep/step_figures/link_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/trace/communication_index.hpp"
#include "sim/trace/peers.hpp"
#include "tools/app/step/step_traffic.hpp"

namespace lockstep::cli {

namespace {

double in_seconds(TimePoint at) {
  return at.since_start().seconds();
}

/// Amounts in equal bins of the step.
class Bins {
 public:
  Bins(double end, std::size_t divisions) : end_{end > 0 ? end : 1}, amounts_(divisions, 0) {}

  /// `rate` from `from` to `to`, both in seconds: to each part its mean rate.
  void add(double from, double to, double rate) {
    const double width = end_ / static_cast<double>(amounts_.size());
    auto i = static_cast<std::size_t>(
        std::clamp(from / width, 0.0, static_cast<double>(amounts_.size()) - 1));
    for (; i < amounts_.size(); ++i) {
      const double begin = width * static_cast<double>(i);
      if (begin >= to) break;
      const double shared = std::min(to, begin + width) - std::max(from, begin);
      if (shared > 0) amounts_[i] += rate * shared / width;
    }
  }
  [[nodiscard]] const std::vector<double>& amounts() const { return amounts_; }

 private:
  double end_;
  std::vector<double> amounts_;
};

LinkLoad load_of(LinkId link, std::vector<double> use) {
  const double sum = std::accumulate(use.begin(), use.end(), 0.0);
  const double mean = sum / static_cast<double>(use.size());
  return {link, std::move(use), mean};
}

double capacity(const Cluster& cluster, LinkId link) {
  return cluster.link(link).figures.carried().bytes_per_second();
}

StepLinkLoads recorded(const TrainingStepResult& result, std::size_t divisions) {
  const Cluster& cluster = result.scenario.cluster.cluster;
  const double end = in_seconds(result.step.timeline.end);
  std::map<std::string, LinkId> ids;
  for (std::size_t i = 0; i < cluster.link_count(); ++i)
    ids.emplace(cluster.link_name(static_cast<LinkId>(i)), static_cast<LinkId>(i));
  StepLinkLoads out{{}, true};
  for (const LinkSeries& series : result.step.links) {
    const LinkId link = ids.at(series.name);
    const double most = capacity(cluster, link);
    Bins bins(end, divisions);
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      if (series.points[i].bytes_per_second <= 0) continue;
      const double until = i + 1 < series.points.size() ? in_seconds(series.points[i + 1].at) : end;
      bins.add(in_seconds(series.points[i].at), until, series.points[i].bytes_per_second / most);
    }
    out.links.push_back(load_of(link, bins.amounts()));
  }
  return out;
}

/// Loads of all ranks from the times of those that were simulated.
class Communications {
 public:
  Communications(const TrainingStepResult& result, std::size_t divisions)
      : result_{result},
        timeline_{result.step.timeline},
        peers_{timeline_},
        traffic_{result},
        divisions_{divisions} {}

  StepLinkLoads loads() {
    const Program& program = *timeline_.program;
    for (int rank = 0; rank < program.mesh.ranks() + hosts_of(program); ++rank) add_rank(rank);
    const Cluster& cluster = result_.scenario.cluster.cluster;
    std::map<LinkId, std::vector<double>> links;
    for (const auto& [traffic, bins] : times_)
      for (const auto& [link, bytes] : traffic->bytes) {
        std::vector<double>& use = links.try_emplace(link, divisions_, 0).first->second;
        const double share = bytes / capacity(cluster, link);
        for (std::size_t i = 0; i < divisions_; ++i) use[i] += share * bins.amounts()[i];
      }
    StepLinkLoads out;
    for (auto& [link, use] : links) out.links.push_back(load_of(link, std::move(use)));
    return out;
  }

 private:
  void add_rank(int rank) {
    const std::size_t index = simulated(rank);
    const RankTimeline& of = timeline_.ranks[index];
    const RoleProgram& role = timeline_.roles[of.role];
    for (std::uint32_t i = 0; i < role.operations.size(); ++i) {
      const RoleOperation& operation = role.operations[i];
      if (!counts(rank, *operation.operation)) continue;
      const CommunicationTraffic* const traffic = traffic_.of(rank, role, operation);
      if (traffic == nullptr || traffic->bytes.empty() || traffic->members.front() != rank)
        continue;
      const double end = in_seconds(of.operations.end_of(i));
      const double begin = std::min(in_seconds(peers_.transfer_start({index, i})), end);
      if (end <= begin) continue;
      times_.try_emplace(traffic, in_seconds(timeline_.end), divisions_)
          .first->second.add(begin, end, 1 / (end - begin));
    }
  }

  /// A communication counts once: at its first member, or at its sender.
  [[nodiscard]] bool counts(int rank, const Operation& operation) const {
    if (!has_ends(operation) || operation.kind == OperationKind::receive) return false;
    const Communication& how = *operation.communication;
    const Mesh& mesh = timeline_.program->mesh;
    if (operation.kind == OperationKind::send || rank >= mesh.ranks()) return true;
    const int first = how.participants.empty() ? 0 : how.participants.front();
    return mesh.coordinate(rank, how.over) == first;
  }

  /// The simulated rank whose times a rank has.
  [[nodiscard]] std::size_t simulated(int rank) const {
    if (!timeline_.representative_of.empty())
      return timeline_.representative_of[static_cast<std::size_t>(rank)];
    const auto own = std::ranges::find(timeline_.ranks, rank, &RankTimeline::rank);
    if (own != timeline_.ranks.end())
      return static_cast<std::size_t>(own - timeline_.ranks.begin());
    const std::size_t role = role_played(*timeline_.program, rank);
    const auto same = std::ranges::find(timeline_.ranks, role, &RankTimeline::role);
    return static_cast<std::size_t>(same - timeline_.ranks.begin());
  }

  const TrainingStepResult& result_;
  const TrainingStepTimeline& timeline_;
  Peers peers_;
  StepTraffic traffic_;
  std::size_t divisions_;
  std::map<const CommunicationTraffic*, Bins> times_{};  // transfers per second
};

}  // namespace

StepLinkLoads link_loads(const TrainingStepResult& result, std::size_t divisions) {
  if (result.scenario.parallel.ranks() > kMostLinkRanks) return {};
  if (!result.step.links.empty() && result.step.fidelity == Fidelity::all_ranks)
    return recorded(result, divisions);
  return Communications{result, divisions}.loads();
}

std::string kind_of_link(const Cluster& cluster, LinkId link) {
  const ClusterLink of = cluster.link(link);
  return fmt::format("{} -> {}", to_string(cluster.vertex(of.from).kind),
                     to_string(cluster.vertex(of.to).kind));
}

}  // namespace lockstep::cli
