#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/reuse/call_shape.hpp"
#include "sim/reuse/key.hpp"
#include "sim/reuse/tight_routes.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep {

/// Ends of calls whose transfers meet each other but nothing else. They follow from the shape of
/// the call and from its members' begins relative to the first of them, so that a call is replayed
/// only if none of its shape has begun like it before. Copyable.
class LearnedEnds {
 public:
  /// The end of each member of a call that nothing else meets, from its begin.
  using Replay = std::function<std::vector<TimePoint>(const std::vector<TimePoint>& begins)>;

  /// A number for calls of this shape.
  [[nodiscard]] std::uint32_t add_shape(const fold::Key& shape);
  /// Whether ends of the shape were known about as often as something else came to its calls.
  [[nodiscard]] bool pays(std::uint32_t shape) const;
  /// Something else has come to a call of the shape, which has to be replayed.
  void count_met(std::uint32_t shape) { ++shapes_[shape].met; }

  /// The end of each member, from its begin. None if it is not known and there is no room for it.
  [[nodiscard]] std::optional<std::vector<TimePoint>> ends(std::uint32_t shape,
                                                           const std::vector<TimePoint>& begins,
                                                           const Replay& replay);

 private:
  struct Shape {
    std::map<fold::Key, std::vector<Duration>> ends{};  // by begins; after the first of them
    std::uint64_t known = 0;
    std::uint64_t met = 0;
  };

  std::map<fold::Key, std::uint32_t> numbers_;
  std::vector<Shape> shapes_;
  std::size_t room_ = std::size_t{1} << 22U;  // for ends of further members: 32 MiB
};

/// The members of a call and what its messages cross, for a replay on their own: endpoint i is
/// member i. `ways`: of all its messages.
[[nodiscard]] Network network_of_call(const Network& network, const CollectiveCall& call,
                                      const std::vector<MessageWay>& ways,
                                      const TightRoutes& routes);

}  // namespace lockstep
