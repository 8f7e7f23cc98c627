#include "topologies/routing/node_rings.hpp"
#include "topologies/graph/nodes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace lockstep {

namespace {

constexpr std::size_t kFewest = 3;
constexpr std::size_t kMost = 16;
/// That one link counts as: one that has been slowed down can be a small part of the others.
constexpr double kMostLinks = 16;
/// Steps after which the best that was found has to do.
constexpr std::int64_t kMostSteps = 2'000'000;

using Counts = std::vector<std::vector<int>>;

/// NVLinks between each two of the GPUs, in the slowest one's bandwidth.
Counts links_between(const Cluster& cluster, std::span<const EndpointId> gpus) {
  std::map<VertexId, int> index;
  for (std::size_t g = 0; g < gpus.size(); ++g)
    index[cluster.vertex_of(gpus[g])] = static_cast<int>(g);
  std::vector<std::pair<std::pair<int, int>, double>> found;
  double slowest = 0;
  for (std::size_t i = 0; i < cluster.link_count(); ++i) {
    if (cluster.has_failed(static_cast<LinkId>(i))) continue;
    const ClusterLink link = cluster.link(static_cast<LinkId>(i));
    const auto from = index.find(link.from);
    const auto to = index.find(link.to);
    if (link.kind != LinkKind::nvlink || from == index.end() || to == index.end()) continue;
    const double rate = link.figures.carried().bytes_per_second();
    slowest = slowest > 0 ? std::min(slowest, rate) : rate;
    found.push_back({{from->second, to->second}, rate});
  }
  Counts out(gpus.size(), std::vector<int>(gpus.size(), 0));
  for (const auto& [ends, rate] : found)
    out[static_cast<std::size_t>(ends.first)][static_cast<std::size_t>(ends.second)] +=
        static_cast<int>(std::min(std::floor(rate / slowest + 1e-6), kMostLinks));
  return out;
}

/// Looks for cycles one after the other, going back where the rest leaves none.
class CycleSearch {
 public:
  explicit CycleSearch(Counts links) : links_{std::move(links)} {}

  std::vector<std::vector<int>> run() {
    std::size_t most = links_.size();
    for (const std::vector<int>& of : links_) {
      int all = 0;
      for (const int count : of) all += count;
      most = std::min(most, static_cast<std::size_t>(all / 2));
    }
    wanted_ = most;
    if (wanted_ > 0) start_cycle();
    return best_;
  }

 private:
  [[nodiscard]] int& links(int a, int b) {
    return links_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }
  void take(int a, int b, int count) {
    links(a, b) -= count;
    links(b, a) -= count;
  }

  /// True once there are as many as wanted.
  bool start_cycle() {
    cycles_.push_back({0});
    const bool done = extend();
    cycles_.pop_back();
    return done;
  }

  bool extend() {
    if (++steps_ > kMostSteps) return true;
    const int last = cycles_.back().back();
    if (cycles_.back().size() == links_.size()) return close(last);
    for (int next = 1; next < static_cast<int>(links_.size()); ++next) {
      if (links(last, next) < 1 || passes(next)) continue;
      take(last, next, 1);
      cycles_.back().push_back(next);
      const bool done = extend();
      cycles_.back().pop_back();
      take(last, next, -1);
      if (done) return true;
    }
    return false;
  }

  [[nodiscard]] bool passes(int gpu) const {
    const std::vector<int>& cycle = cycles_.back();
    return std::find(cycle.begin(), cycle.end(), gpu) != cycle.end();
  }

  bool close(int last) {
    if (links(last, 0) < 1) return false;
    if (cycles_.size() > best_.size()) best_ = cycles_;
    if (best_.size() == wanted_) return true;
    take(last, 0, 1);
    const bool done = start_cycle();
    take(last, 0, -1);
    return done;
  }

  Counts links_;
  std::size_t wanted_ = 0;
  std::int64_t steps_ = 0;
  std::vector<std::vector<int>> cycles_;
  std::vector<std::vector<int>> best_;
};

[[nodiscard]] bool joins_all(const Counts& links) {
  for (std::size_t a = 0; a < links.size(); ++a)
    for (std::size_t b = 0; b < links.size(); ++b)
      if (a != b && links[a][b] < 1) return false;
  return true;
}

/// From `first` in turn to the next above and below.
[[nodiscard]] std::vector<int> zigzag(int first, int gpus) {
  std::vector<int> out;
  for (int i = 0; i < gpus; ++i) {
    const int distance = i % 2 == 1 ? (i + 1) / 2 : -(i / 2);
    out.push_back((first + distance + gpus) % gpus);
  }
  return out;
}

}  // namespace

std::vector<std::vector<int>> nvlink_paths(const Cluster& cluster,
                                           std::span<const EndpointId> gpus) {
  if (gpus.size() < kFewest || gpus.size() > kMost) return {};
  const Counts links = links_between(cluster, gpus);
  std::vector<std::vector<int>> out;
  if (gpus.size() % 2 == 0 && joins_all(links)) {
    const int count = static_cast<int>(gpus.size());
    for (int first = 0; first < count; ++first) out.push_back(zigzag(first, count));
    return out;
  }
  for (std::vector<int>& cycle : CycleSearch{links}.run()) {
    for (const bool backwards : {false, true}) {
      std::vector<int>& path = out.emplace_back(cycle);
      if (backwards) std::reverse(path.begin(), path.end());
      const auto opened = static_cast<std::ptrdiff_t>(out.size() - 1) % std::ssize(path);
      std::rotate(path.begin(), path.begin() + opened, path.end());
    }
  }
  return out;
}

std::vector<std::vector<int>> nvlink_rings(const Cluster& cluster,
                                           std::span<const EndpointId> gpus) {
  if (gpus.size() < kFewest || gpus.size() > kMost) return {};
  return CycleSearch{links_between(cluster, gpus)}.run();
}

std::vector<std::vector<int>> nvlink_rings(const Cluster& cluster, int node) {
  std::vector<EndpointId> gpus(static_cast<std::size_t>(ranks_of_node(cluster, node)));
  std::iota(gpus.begin(), gpus.end(), static_cast<EndpointId>(first_rank_of_node(cluster, node)));
  return nvlink_rings(cluster, gpus);
}

}  // namespace lockstep
