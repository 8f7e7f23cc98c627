#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/network/route_cache.hpp"
#include "sim/reuse/key.hpp"
#include "sim/reuse/message_way.hpp"
#include "sim/schedule/workload.hpp"

namespace lockstep {

/// The course of one call of a schedule: bytes, peers and steps, over links of given bandwidths.
/// Isolated calls of equal shape take equally long.
struct CallShape {
  fold::Key key{};                 // links and channels numbered by first appearance
  std::vector<LinkId> links{};     // in that order
  std::vector<MessageWay> ways{};  // of its messages, ascending
  bool works = false;              // endpoints reduce or copy, which takes time
};

/// Computes shapes; caches routes.
class CallShapes {
 public:
  /// The network must outlive it.
  explicit CallShapes(const Network& network);

  [[nodiscard]] CallShape of(const CollectiveCall& call);
  /// The route between two endpoints. Errors: InternalError if there is none.
  [[nodiscard]] const Route& route(EndpointId from, EndpointId to, std::uint32_t channel);

 private:
  void add_members(const CollectiveCall& call, fold::KeyBuilder& key);
  void add_lane(const CollectiveCall& call, int member, int lane, fold::KeyBuilder& key);
  void add_step(const CollectiveCall& call, int member, fold::KeyBuilder& key);
  void add_way(const Route& route, fold::KeyBuilder& key);
  [[nodiscard]] std::uint64_t number(int channel);

  const Network& network_;
  RouteCache routes_;
  std::vector<std::uint32_t> number_;      // per link, of the current call
  std::map<int, std::uint64_t> channels_;  // of the current call
  CallShape out_;
  ScheduleStep step_;
};

}  // namespace lockstep
