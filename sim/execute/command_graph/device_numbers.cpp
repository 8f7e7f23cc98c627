#include "sim/execute/command_graph/device_numbers.hpp"

#include "sim/execute/command_graph/schedule_commands.hpp"
#include "sim/execute/kernels/execution_error.hpp"

namespace lockstep {

namespace {

[[nodiscard]] Region whole(const ScheduleCommands& graph, int rank, Buffer which) {
  const BufferId buffer = graph.buffer(rank, which);
  return {buffer, 0, graph.graph.buffers[buffer].elements};
}

void bring(LoadedCommandGraph& loaded, Region where, const std::vector<float>& values) {
  loaded.write(where, std::vector<double>(values.begin(), values.end()));
}

[[nodiscard]] std::vector<float> fetched(LoadedCommandGraph& loaded, Region where) {
  std::vector<float> out;
  for (const double value : loaded.read(where)) out.push_back(static_cast<float>(value));
  return out;
}

std::optional<std::string> move(Backend& device, const DeviceNumbers& how, const Schedule& schedule,
                                HostMemory& memory) {
  ScheduleCommandOptions options;
  options.block = memory.block_elements;
  options.type = how.type;
  options.devices = how.devices;
  const ScheduleCommands graph = commands_of(schedule, options);
  const auto loaded = device.load(graph.graph, how.load);
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    bring(*loaded, whole(graph, rank, Buffer::data),
          memory.ranks[static_cast<std::size_t>(rank)].data);
  }
  loaded->run();
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    RankMemory& of = memory.ranks[static_cast<std::size_t>(rank)];
    of.data = fetched(*loaded, whole(graph, rank, Buffer::data));
    if (schedule.result() == Buffer::output) {
      of.output = fetched(*loaded, whole(graph, rank, Buffer::output));
    }
  }
  return std::nullopt;
}

}  // namespace

std::function<std::optional<std::string>(const Schedule&, HostMemory&)> move_on_device(
    Backend& device, const DeviceNumbers& how) {
  return
      [&device, how](const Schedule& schedule, HostMemory& memory) -> std::optional<std::string> {
        try {
          return move(device, how, schedule, memory);
        } catch (const ExecutionError& error) {
          return error.what();
        }
      };
}

}  // namespace lockstep
