#include "sim/execute/command_graph/schedule_commands.hpp"

#include <doctest/doctest.h>

#include "sim/execute/command_graph/device_numbers.hpp"
#include "sim/execute/command_graph/fake_device.hpp"
#include "sim/execute/command_graph/host_backend.hpp"
#include "sim/execute/schedule_checks/numeric.hpp"
#include "tests/strategies/collectives/every_row.hpp"

/// Every schedule of the table as a command graph for devices: its order, looked at by a device
/// that computes nothing, and its numbers, in orders that events alone hold together.
using namespace lockstep;

namespace {

const std::vector<int> kRanks{2, 3, 4, 5, 8};

[[nodiscard]] std::string text_of(const std::vector<CommandGraphFault>& problems) {
  return problems.empty() ? "" : problems.front().what;
}

[[nodiscard]] ScheduleCommands plan_of(const Schedule& schedule, int devices) {
  ScheduleCommandOptions options;
  options.block = 3;
  options.devices = devices;
  return commands_of(schedule, options);
}

}  // namespace

TEST_CASE("every dependency of every schedule has its event, on one device and on several") {
  for (const RowCase& row : every_row(kRanks)) {
    const SchedulePtr schedule = row.make();
    for (const int devices : {1, 2, schedule->ranks()}) {
      CAPTURE(row.name());
      CAPTURE(devices);
      const auto problems = check_command_graph(plan_of(*schedule, devices).graph);
      CHECK_MESSAGE(problems.empty(), text_of(problems));
    }
  }
}

TEST_CASE("a wait that is dropped is missed, and so is an event that is not recorded") {
  for (const RowCase& row : every_row({3, 4})) {
    CAPTURE(row.name());
    CommandGraph graph = plan_of(*row.make(), 2).graph;
    for (Command& command : graph.commands) {
      for (std::size_t i = 0; i < command.waits.size(); ++i) {
        const auto waits = command.waits;
        command.waits.erase(command.waits.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK_FALSE(check_command_graph(graph).empty());
        command.waits = waits;
      }
      if (!command.signals) continue;
      command.signals = false;
      CHECK_FALSE(check_command_graph(graph).empty());
      command.signals = true;
    }
  }
}

TEST_CASE("graphs compute the right numbers in whatever order their events allow") {
  for (const RowCase& row : every_row(kRanks)) {
    if (row.row->collective == Collective::barrier) continue;  // moves no elements
    const SchedulePtr schedule = row.make();
    const Contract contract = row.contract(*schedule);
    for (const std::uint64_t order : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}}) {
      CAPTURE(row.name());
      CAPTURE(order);
      const auto device = host_backend(order);
      DeviceNumbers how;
      how.devices = order == 2 ? 2 : 1;
      NumericOptions options;
      options.run = move_on_device(*device, how);
      const NumericVerdict verdict =
          check_numbers(*schedule, contract, 3 * schedule->blocks() + 1, options);
      CHECK_MESSAGE(verdict.right(), verdict.problem());
    }
  }
}

TEST_CASE("reductions in 16 bits stay within the bound of their precision") {
  for (const RowCase& row : every_row({4})) {
    if (row.row->collective != Collective::all_reduce) continue;
    const SchedulePtr schedule = row.make();
    for (const NumberType type : {NumberType::bf16, NumberType::fp16}) {
      CAPTURE(row.name());
      CAPTURE(to_string(type));
      const auto device = host_backend();
      DeviceNumbers how;
      how.type = type;
      NumericOptions options;
      options.significand = significand_bits(type);
      options.run = move_on_device(*device, how);
      const NumericVerdict verdict =
          check_numbers(*schedule, row.contract(*schedule), 5 * schedule->blocks(), options);
      CHECK_MESSAGE(verdict.right(), verdict.problem());
      CHECK(verdict.worst > 0);  // they do round
    }
  }
}
