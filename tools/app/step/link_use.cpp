#include "tools/app/step/link_use.hpp"

#include <algorithm>

namespace lockstep::app {

namespace {

struct Load {
  LinkId id = 0;
  double seconds = 0;
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
  const std::size_t kept = std::min(most, loads.size());
  std::partial_sort(loads.begin(), loads.begin() + static_cast<std::ptrdiff_t>(kept), loads.end(),
                    [](const Load& a, const Load& b) {
                      return a.seconds != b.seconds ? a.seconds > b.seconds : a.id < b.id;
                    });
  std::vector<LinkUse> out;
  for (std::size_t i = 0; i < kept; ++i) {
    const Load& load = loads[i];
    // A link may seem to carry more than it can by what messages end early, at whole picoseconds.
    const double busy = step > Duration{} ? std::min(1.0, load.seconds / step.seconds()) : 0;
    out.push_back({cluster.link_name(load.id), carried[load.id],
                   cluster.link(load.id).figures.carried(), busy});
  }
  return out;
}

}  // namespace lockstep::app
