#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/network/network.hpp"
#include "sim/reuse/message_way.hpp"

namespace lockstep {

/// The routes of all messages of a workload without the links that can never saturate first
/// (drop_slack_links()). Transfers take as long over them, and fewer of them meet. In a fabric that
/// blocks nothing, mostly the links of the GPUs are left.
class TightRoutes {
 public:
  /// Routes of more hops together are not looked at: all links are kept. A second of time.
  static constexpr std::size_t kMostHops = std::size_t{1} << 28U;
  /// The same of routes in which one link stands for those that are crossed together: 256 MiB.
  static constexpr std::size_t kMostHopsOfBundles = std::size_t{1} << 24U;

  TightRoutes() = default;
  /// Messages go some of these ways; duplicates count once. `only_ports`: other links are
  /// unlimited.
  TightRoutes(const Network& network, bool only_ports, const std::vector<MessageWay>& ways);

  /// Whether there were not too many.
  [[nodiscard]] bool useful() const { return !routes_.empty(); }
  struct Tight {
    MessageWay way;  // of any tag, unless routes differ by channel
    Route route;
    std::uint32_t number = 0;  // from 0 on
  };
  /// Requires useful() and a way that was passed.
  [[nodiscard]] const Tight& of(const MessageWay& way) const {
    const MessageWay key = by_channel_ ? way : way.any_tag();
    const auto first = routes_.begin() + first_of_[key.from];
    const auto last = routes_.begin() + first_of_[key.from + 1];
    const auto found =
        std::partition_point(first, last, [&](const Tight& each) { return each.way < key; });
    LOCKSTEP_CHECK(found != last && found->way == key);
    return *found;
  }
  /// Of messages by each way, by number, on each link: amount times weight of the hops of the whole
  /// route.
  void add_up(const Network& network, const std::vector<UInt128>& amounts,
              std::vector<UInt128>& carried) const;

 private:
  std::vector<Tight> routes_;            // by way
  std::vector<std::uint32_t> first_of_;  // per sender, and the end of the last
  bool by_channel_ = false;
};

}  // namespace lockstep
