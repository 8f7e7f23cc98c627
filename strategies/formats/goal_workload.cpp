#include "strategies/formats/goal_workload.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/check.hpp"
#include "strategies/formats/goal_messages.hpp"

namespace lockstep {

namespace {

class Converter {
 public:
  Converter(const GoalSchedule& schedule, std::span<const EndpointId> members)
      : schedule_{schedule}, members_{members}, messages_{schedule} {}

  Workload convert() {
    LOCKSTEP_CHECK(members_.size() == static_cast<std::size_t>(schedule_.ranks));
    workload_.slots = Workload::kNoLimit;
    for (const GoalRank& program : schedule_.programs) add_operations(program);
    std::uint32_t first = 0;
    for (const GoalRank& program : schedule_.programs) {
      add_starts(program, first);
      first += static_cast<std::uint32_t>(program.operations.size());
    }
    return std::move(workload_);
  }

 private:
  void add_operations(const GoalRank& program) {
    const auto first = static_cast<std::uint32_t>(workload_.streams.size());
    for (const GoalOperation& given : program.operations) {
      Operation operation =
          given.kind == GoalOperation::Kind::calc ? calculation(given) : message(given);
      for (const std::uint32_t done : given.after) operation.after.push_back({first + done, 0});
      workload_.streams.push_back({member(program.rank), stream_name(given), {}});
      workload_.streams.back().operations.push_back(std::move(operation));
    }
  }

  static std::string stream_name(const GoalOperation& given) {
    return given.label.empty() ? fmt::format("line {}", given.at.line) : given.label;
  }

  static Operation calculation(const GoalOperation& given) {
    Operation out;
    out.kind = Operation::Kind::compute;
    out.duration = given.duration;
    out.processor = given.cpu;
    return out;
  }

  /// Messages come in the order in which GoalMessages counts them.
  Operation message(const GoalOperation& given) {
    Operation out;
    out.kind =
        given.kind == GoalOperation::Kind::send ? Operation::Kind::send : Operation::Kind::receive;
    out.peer = member(given.peer);
    out.tag = messages_.tags().tags[next_message_++];
    out.size = given.size;
    return out;
  }

  /// Moves what an operation waits for to its start, where others wait for that.
  void add_starts(const GoalRank& program, std::uint32_t first) {
    std::vector<std::uint32_t> start_of(program.operations.size(), kNone);
    for (const GoalOperation& waiting : program.operations)
      for (const std::uint32_t started : waiting.after_start)
        if (start_of[started] == kNone) start_of[started] = add_start(program, first, started);
    for (std::uint32_t i = 0; i < program.operations.size(); ++i)
      for (const std::uint32_t started : program.operations[i].after_start)
        beginning(start_of, first, i).after.push_back({start_of[started], 0});
  }

  std::uint32_t add_start(const GoalRank& program, std::uint32_t first, std::uint32_t index) {
    const auto id = static_cast<std::uint32_t>(workload_.streams.size());
    const std::string name = stream_name(program.operations[index]);
    workload_.streams.push_back({member(program.rank), "start of " + name, {}});
    Operation start;
    std::swap(start.after, workload_.streams[first + index].operations[0].after);
    workload_.streams.back().operations.push_back(std::move(start));
    workload_.streams[first + index].operations[0].after.push_back({id, 0});
    return id;
  }

  /// Where an operation's own dependencies belong.
  Operation& beginning(const std::vector<std::uint32_t>& start_of, std::uint32_t first,
                       std::uint32_t index) {
    const std::uint32_t start = start_of[index];
    return workload_.streams[start == kNone ? first + index : start].operations[0];
  }

  [[nodiscard]] EndpointId member(int rank) const {
    return members_[static_cast<std::size_t>(rank)];
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  const GoalSchedule& schedule_;
  std::span<const EndpointId> members_;
  GoalMessages messages_;
  std::size_t next_message_ = 0;
  Workload workload_;
};

}  // namespace

Workload to_workload(const GoalSchedule& schedule, std::span<const EndpointId> members) {
  return Converter(schedule, members).convert();
}

}  // namespace lockstep
