#include "sim/symmetry/folded_depth.hpp"

#include <numeric>

#include "sim/symmetry/fold.hpp"

namespace lockstep {
namespace {

/// Every message takes one picosecond on every route.
class UnitRouter final : public Router {
 public:
  [[nodiscard]] bool route(EndpointId from, EndpointId to, Route& route) const override {
    route.clear();
    if (from != to) route.latency = Duration::picoseconds(1);
    return true;
  }
};

}  // namespace

std::optional<std::int64_t> folded_message_depth(const std::shared_ptr<const Schedule>& schedule) {
  if (schedule->slots() > 0) return std::nullopt;
  Network network;
  network.endpoints.resize(static_cast<std::size_t>(schedule->ranks()));
  network.router = std::make_shared<UnitRouter>();
  CollectiveCall call{"the collective", schedule, {}, Bytes{}, {}};
  call.members.resize(network.endpoints.size());
  std::iota(call.members.begin(), call.members.end(), EndpointId{0});
  const ReplayResult result = replay_folded(network, {{call}, {}}, NetworkModel::fluid).result;
  if (!result.unfinished.empty()) return std::nullopt;
  return result.end.since_start().ps();
}

}  // namespace lockstep
