#include "sim/engine/event_loop/replay_steps.hpp"

#include "sim/engine/event_loop/engine.hpp"

namespace lockstep {

namespace {

std::size_t lanes_of(const CollectiveCall& call) {
  return static_cast<std::size_t>(call.schedule->lanes());
}

}  // namespace

ReplayedSteps replay_with_steps(const Network& network, const Workload& workload,
                                NetworkModel model, const OnReplay& report) {
  std::size_t lanes = 0;
  for (const CollectiveCall& call : workload.calls) lanes += call.members.size() * lanes_of(call);
  StepEndsLog log{lanes};
  Engine engine(network, workload, model, log);
  engine.advance_to_end(report);
  ReplayedSteps out{engine.take_result(), {}};
  if (!log.complete()) return out;
  std::size_t first = 0;
  for (const CollectiveCall& call : workload.calls) {
    std::vector<StepEnds>& ends = out.ends.emplace_back();
    for (std::size_t m = 0; m < call.members.size(); ++m, first += lanes_of(call))
      ends.push_back(latest_of(log.lanes(first, lanes_of(call))));
  }
  return out;
}

}  // namespace lockstep
