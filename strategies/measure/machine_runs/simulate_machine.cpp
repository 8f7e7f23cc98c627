#include "strategies/measure/machine_runs/simulate_machine.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/cost/roofline.hpp"
#include "sim/engine/replay.hpp"
#include "sim/program/unroll.hpp"
#include "strategies/measure/machine/machine_network.hpp"

namespace lockstep {

namespace {

class CommandGraphWorkload {
 public:
  CommandGraphWorkload(const CommandGraph& graph, const MachineFit& fit, Rate memory)
      : graph_{graph}, fit_{fit}, memory_{memory} {}

  Workload run() {
    workload_.streams.resize(graph_.streams.size());
    for (std::size_t i = 0; i < graph_.streams.size(); ++i) {
      workload_.streams[i].endpoint = ranks_of(graph_.streams[i].device);
      workload_.streams[i].name = graph_.streams[i].name;
    }
    for (const Command& command : graph_.commands) add(command);
    return std::move(workload_);
  }

 private:
  void add(const Command& command) {
    LOCKSTEP_CHECK(command.kind != Command::Kind::launch);
    Activity activity;
    for (const CommandId before : command.waits) {
      activity.after.push_back(places_[before]);
    }
    const bool moves = command.kind != Command::Kind::mark;
    if (moves && !fit_.serial) add_start(command, activity);
    places_.push_back({command.stream, static_cast<std::uint32_t>(
                                           workload_.streams[command.stream].operations.size())});
    if (fit_.serial || !moves) {
      activity.duration = moves ? time(command) : Duration{};
      activity.processor = fit_.serial ? 0 : Activity::kOwnProcessor;
    } else {
      const int here = graph_.streams[command.stream].device;
      const int there = memory_device(command);
      activity.kind = Activity::Kind::send;
      activity.peer = memory_of(there);
      activity.tag = command.stream;
      activity.size = Bytes{here == there ? traffic(command) : bytes(command)};
      Activity arrival = activity;
      arrival.kind = Activity::Kind::receive;
      arrival.peer = ranks_of(here);
      arrival.after.clear();
      memory_stream(command.stream, there).operations.push_back(arrival);
    }
    workload_.streams[command.stream].operations.push_back(std::move(activity));
  }
  /// Commands of a GPU start one by one. A link's latency is that of a whole copy.
  void add_start(const Command& command, Activity& activity) {
    if (memory_device(command) != graph_.streams[command.stream].device) return;
    std::vector<Activity>& operations = workload_.streams[command.stream].operations;
    const auto put = [&](Duration duration, int processor) {
      if (duration == Duration{}) return;
      Activity start;
      start.after = std::exchange(activity.after, {});
      start.duration = duration;
      start.processor = processor;
      operations.push_back(std::move(start));
    };
    put(fit_.issue, 0);
    put(start_of(command), Activity::kOwnProcessor);
  }
  /// Whose memory a command uses.
  [[nodiscard]] int memory_device(const Command& command) const {
    return graph_.buffers[fetches(command) ? command.from.buffer : command.to.buffer].device;
  }
  [[nodiscard]] static bool fetches(const Command& command) {
    return command.kind == Command::Kind::peer_copy;
  }
  /// The memory's side of what a stream moves there.
  [[nodiscard]] Stream& memory_stream(StreamIndex of, int device) {
    const auto [found, is_new] = memories_.try_emplace({of, device}, workload_.streams.size());
    if (is_new) {
      Stream& out = workload_.streams.emplace_back();
      out.endpoint = memory_of(device);
      out.name = "memory";
    }
    return workload_.streams[found->second];
  }

  [[nodiscard]] const MemoryCurve& curve(const Command& command) const {
    if (command.kind == Command::Kind::copy || command.kind == Command::Kind::peer_copy) {
      return fit_.copy;
    }
    const auto type = static_cast<std::size_t>(graph_.buffers[command.to.buffer].type);
    return fit_.add[type].points.empty() ? fit_.add[static_cast<std::size_t>(NumberType::fp32)]
                                         : fit_.add[type];
  }
  [[nodiscard]] std::int64_t bytes(const Command& command) const {
    return command.to.count * bytes_of(graph_.buffers[command.to.buffer].type);
  }
  [[nodiscard]] Duration time(const Command& command) const {
    return Duration::picoseconds(std::llround(curve(command).seconds(bytes(command)) * 1e12));
  }
  /// Bytes that the memory moves: a copy's are read and written, a reduction's read twice.
  [[nodiscard]] std::int64_t traffic(const Command& command) const {
    return (fetches(command) || command.kind == Command::Kind::copy ? 2 : 3) * bytes(command);
  }
  /// What a command takes beyond the delay of the memory and its traffic, alone: small ones do not
  /// use the memory for all of their time, and leave it to other streams.
  [[nodiscard]] Duration start_of(const Command& command) const {
    const double rest = time(command).seconds() - (fit_.empty_copy + fit_.issue).seconds() -
                        static_cast<double>(traffic(command)) / memory_.bytes_per_second();
    return Duration::picoseconds(std::llround(std::max(0.0, rest) * 1e12));
  }

  const CommandGraph& graph_;
  const MachineFit& fit_;
  Rate memory_;
  Workload workload_{};
  std::vector<ActivityRef> places_{};  // per command
  std::map<std::pair<StreamIndex, int>, std::size_t> memories_{};
};

/// Of the GPU with the largest buffers: small ones stay in its caches.
[[nodiscard]] Rate memory_rate(const CommandGraph& graph, const MachineFit& fit) {
  if (fit.together.points.empty()) return fit.model.memory_bandwidth;
  std::map<int, std::int64_t> held;
  for (const CommandGraphBuffer& buffer : graph.buffers) {
    held[buffer.device] += buffer.elements * bytes_of(buffer.type);
  }
  std::int64_t most = fit.together.points.front().first;
  for (const auto& [device, bytes] : held) most = std::max(most, bytes);
  return Rate::bytes_per_second(
      std::llround(static_cast<double>(most) / fit.together.seconds(most)));
}

[[nodiscard]] Duration end_of(const Network& network, const Workload& workload) {
  const ReplayResult result = replay(network, workload, NetworkModel::fluid);
  LOCKSTEP_CHECK(result.unfinished.empty());
  return result.end.since_start();
}

}  // namespace

Duration simulate_command_graph(const CommandGraph& graph, const MachineFit& fit) {
  MachineFit shared = fit;
  shared.model.memory_bandwidth = memory_rate(graph, fit);
  return end_of(machine_network(shared, graph.devices),
                CommandGraphWorkload{graph, fit, shared.model.memory_bandwidth}.run());
}

Duration simulate_program(const Program& program, const MachineFit& fit) {
  const Roofline cost{fit.model};
  const RoleProgram role = unroll(program, 0);
  Workload workload;
  workload.streams.resize(program.streams.size());
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    workload.streams[i].endpoint = ranks_of(0);
    workload.streams[i].name = program.streams[i];
  }
  std::vector<ActivityRef> places;
  for (const RoleOperation& operation : role.operations) {
    const StreamId stream = operation.operation->stream;
    Activity activity;
    activity.duration = cost.time(
        kernel_of(program, program.routines[operation.call.routine], operation.index_in_routine));
    activity.processor = 0;
    for (const std::uint32_t before : operation.after) activity.after.push_back(places[before]);
    places.push_back(
        {stream, static_cast<std::uint32_t>(workload.streams[stream].operations.size())});
    workload.streams[stream].operations.push_back(std::move(activity));
  }
  return end_of(machine_network(fit, 1), workload);
}

}  // namespace lockstep
