#include "tools/app/step/metrics/link_use.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace lockstep::app {

namespace {

struct Load {
  LinkId id = 0;
  double seconds = 0;
};

using Key = std::tuple<VertexKind, VertexKind, double, long long>;

/// Links of the same kind, bandwidth and utilization.
class Groups {
 public:
  Groups(const Cluster& cluster, Duration step) : cluster_{cluster}, step_{step} {}

  /// In descending order of load; at most `most` groups are kept.
  void add(const Load& load, Bytes bytes, std::size_t most) {
    const ClusterLink link = cluster_.link(load.id);
    // Rounding of transfers to whole picoseconds may push the quotient above 1.
    const double busy = step_ > Duration{} ? std::min(1.0, load.seconds / step_.seconds()) : 0;
    const Rate rate = link.figures.carried();
    const VertexKind from = cluster_.vertex(link.from).kind;
    const VertexKind to = cluster_.vertex(link.to).kind;
    const Key key{from, to, rate.bytes_per_second(), std::llround(200 * busy)};
    const auto known = places_.find(key);
    if (known != places_.end()) {
      ++out_[known->second].count;
      return;
    }
    if (out_.size() == most) return;
    places_.emplace(key, out_.size());
    out_.push_back({cluster_.link_name(load.id),
                    std::string{to_string(from)} + " -> " + std::string{to_string(to)}, 1, bytes,
                    rate, busy});
  }

  [[nodiscard]] std::vector<LinkUse> take() && { return std::move(out_); }

 private:
  const Cluster& cluster_;
  Duration step_;
  std::map<Key, std::size_t> places_;
  std::vector<LinkUse> out_;
};

}  // namespace

std::vector<LinkUse> busiest_links(const std::vector<Bytes>& carried, Duration step,
                                   const Cluster& cluster, std::size_t most) {
  const std::size_t links = std::min(carried.size(), cluster.link_count());
  std::vector<Load> loads;
  for (std::size_t i = 0; i < links; ++i) {
    if (carried[i].count() == 0) continue;
    const auto id = static_cast<LinkId>(i);
    const double rate = cluster.link(id).figures.carried().bytes_per_second();
    loads.push_back({id, static_cast<double>(carried[i].count()) / rate});
  }
  std::stable_sort(loads.begin(), loads.end(),
                   [](const Load& a, const Load& b) { return a.seconds > b.seconds; });
  Groups groups(cluster, step);
  for (const Load& load : loads) groups.add(load, carried[load.id], most);
  return std::move(groups).take();
}

}  // namespace lockstep::app
