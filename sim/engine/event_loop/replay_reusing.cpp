#include "sim/engine/replay_reusing.hpp"

#include <algorithm>

#include "sim/engine/event_loop/engine.hpp"

namespace lockstep {

bool can_reuse(const Network& network, const Workload& workload, NetworkModel model) {
  if (model == NetworkModel::queue || workload.logs_transfers || workload.streams.empty())
    return false;
  const bool overheads =
      std::any_of(network.endpoints.begin(), network.endpoints.end(),
                  [](const Endpoint& e) { return e.message_overhead > Duration{}; });
  const bool scheduled = std::all_of(workload.calls.begin(), workload.calls.end(),
                                     [](const CollectiveCall& call) { return !call.takes; });
  return !overheads && scheduled && !workload.shares_processors();
}

ReplayResult replay_reusing(const Network& network, const Workload& workload, NetworkModel model,
                            const OnReplay& report) {
  const bool reuses = can_reuse(network, workload, model);
  Engine engine(network, workload, model, reuses);
  if (reuses) engine.record_work();
  engine.advance_to_end(report);
  return engine.take_result();
}

}  // namespace lockstep
