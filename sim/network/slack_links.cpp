#include "sim/network/slack_links.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"

namespace lockstep {
namespace {

class Slack {
 public:
  Slack(std::span<Route*> routes, std::span<const Link> links, bool only_ports)
      : routes_{routes},
        links_{links},
        only_ports_{only_ports},
        slack_(links.size(), false),
        crossed_(links.size(), 0),
        allowed_(links.size(), 0),
        known_(links.size(), 0) {
    list_users();
  }

  void drop() {
    for (LinkId link = 0; link < links_.size(); ++link) slack_[link] = is_bounded_by_one(link);
    for (LinkId link = 0; link < links_.size(); ++link)
      if (!slack_[link]) slack_[link] = is_bounded_by_several(link);
    for (Route* route : routes_)
      std::erase_if(route->hops, [this](const Hop& hop) { return slack_[hop.link]; });
  }

 private:
  void list_users() {
    first_user_.assign(links_.size() + 1, 0);
    for (const Route* route : routes_)
      for (const Hop& hop : route->hops) ++first_user_[hop.link + 1];
    for (std::size_t link = 0; link < links_.size(); ++link)
      first_user_[link + 1] += first_user_[link];
    users_.resize(first_user_.back());
    std::vector<std::uint32_t> next(first_user_.begin(), first_user_.end() - 1);
    for (const Route* route : routes_)
      for (const Hop& hop : route->hops) users_[next[hop.link]++] = route;
  }

  [[nodiscard]] std::span<const Route* const> users(LinkId link) const {
    return std::span{users_}.subspan(first_user_[link], first_user_[link + 1] - first_user_[link]);
  }

  [[nodiscard]] static const Hop* find(const Route& route, LinkId link) {
    const auto at = std::find_if(route.hops.begin(), route.hops.end(),
                                 [link](const Hop& hop) { return hop.link == link; });
    return at == route.hops.end() ? nullptr : &*at;
  }

  [[nodiscard]] bool limits(LinkId link) const { return !only_ports_ || links_[link].port; }

  /// What bounds a link is on the way of everything that crosses it, so of the first. Of links that
  /// bound each other the last one stays, as those before it are slack when its turn comes.
  [[nodiscard]] bool is_bounded_by_one(LinkId link) const {
    if (users(link).empty() || !limits(link)) return false;
    const std::vector<Hop>& hops = users(link).front()->hops;
    return std::any_of(hops.begin(), hops.end(), [&](const Hop& hop) {
      return hop.link != link && limits(hop.link) && !slack_[hop.link] && bounds(hop.link, link);
    });
  }

  [[nodiscard]] bool bounds(LinkId narrow, LinkId wide) const {
    const UInt128 narrow_width = links_[narrow].bandwidth.steps();
    const UInt128 wide_width = links_[wide].bandwidth.steps();
    const auto takes_more = [&](const Route* route) {
      const Hop* over_narrow = find(*route, narrow);
      const Hop* over_wide = find(*route, wide);
      return over_narrow != nullptr &&
             over_narrow->weight * wide_width >= over_wide->weight * narrow_width;
    };
    const auto all = users(wide);
    return std::all_of(all.begin(), all.end(), takes_more);
  }

  /// Whether links that are narrow enough together carry all that crosses this one. Of every
  /// route's links that one counts which lets the least onto this one, of equal ones that which
  /// most routes cross; if those are too wide together, the most common of them: a NIC may carry
  /// whole routes, and parts of split ones that are narrower elsewhere.
  [[nodiscard]] bool is_bounded_by_several(LinkId link) {
    if (users(link).size() < 2 || !limits(link)) return false;
    for (const Route* route : users(link))
      for (const Hop& hop : route->hops) ++crossed_[hop.link];
    const UInt128 capacity = static_cast<UInt128>(links_[link].bandwidth.steps()) * kWeightUnit;
    bool bounded = false;
    if (const UInt128 load = worst_load(link, Counted::narrowest); load != kNoBound) {
      bounded = load <= capacity;
      if (!bounded) {
        for (const Route* route : users(link))
          for (const Hop& hop : route->hops) known_[hop.link] = allowed_[hop.link] > 0;
        clear(allowed_, link);
        bounded = worst_load(link, Counted::most_common_known) <= capacity;
        clear(known_, link);
      }
    }
    clear(allowed_, link);
    clear(crossed_, link);
    return bounded;
  }

  template <typename PerLink>
  void clear(PerLink& values, LinkId link) {
    for (const Route* route : users(link))
      for (const Hop& hop : route->hops) values[hop.link] = 0;
  }

  enum class Counted : std::uint8_t { narrowest, most_common_known };

  /// What others let onto the link at the most, and a step more for every transfer, as weight times
  /// rate steps; kNoBound where something crosses no other.
  [[nodiscard]] UInt128 worst_load(LinkId link, Counted counted) {
    UInt128 load = 0;
    for (const Route* route : users(link)) {
      const Weight over = find(*route, link)->weight;
      UInt128 least = kNoBound;
      LinkId narrow = link;
      for (const Hop& hop : route->hops) {
        if (hop.link == link || !limits(hop.link) || slack_[hop.link]) continue;
        const UInt128 lets = lets_through(hop, over);
        const bool more_cross = crossed_[hop.link] > crossed_[narrow];
        const bool better = counted == Counted::narrowest
                                ? lets < least || (lets == least && more_cross)
                                : known_[hop.link] != 0 && (least == kNoBound || more_cross);
        if (better) {
          least = lets;
          narrow = hop.link;
        }
      }
      if (least == kNoBound) return kNoBound;
      if (least > allowed_[narrow]) load += least - std::exchange(allowed_[narrow], least);
      load += over * kMostParallel;
    }
    return load;
  }

  [[nodiscard]] UInt128 lets_through(const Hop& narrow, Weight over) const {
    const UInt128 width = links_[narrow.link].bandwidth.steps();
    return (width * over + narrow.weight - 1) / narrow.weight * kWeightUnit;
  }

  static constexpr UInt128 kNoBound = ~UInt128{0};
  /// No pair has so many transfers in flight at once.
  static constexpr UInt128 kMostParallel = UInt128{1} << 20U;

  std::span<Route*> routes_;
  std::span<const Link> links_;
  bool only_ports_;
  std::vector<bool> slack_;
  // Per link, of the one at hand: how many of its routes cross it, and what it lets onto that one.
  std::vector<std::uint32_t> crossed_;
  std::vector<UInt128> allowed_;
  std::vector<std::uint8_t> known_;        // whether it counted in the first attempt
  std::vector<std::uint32_t> first_user_;  // per link, and one more
  std::vector<const Route*> users_;
};

}  // namespace

void drop_slack_links(std::span<Route*> routes, std::span<const Link> links, bool only_ports) {
  Slack{routes, links, only_ports}.drop();
}

}  // namespace lockstep
