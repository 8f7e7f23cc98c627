#include "strategies/interop/chakra/chakra_workload.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/interop/chakra/chakra_groups.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kGpu = 0;
constexpr std::uint32_t kCpu = 1;

class Converter {
 public:
  Converter(const ChakraTrace& trace, std::span<const EndpointId> members,
            const ChooseSchedule& choose)
      : trace_{trace}, members_{members}, choose_{choose} {}

  Workload convert() {
    LOCKSTEP_CHECK(members_.size() == trace_.ranks.size());
    workload_.slots = Workload::kNoLimit;
    for (std::uint32_t rank = 0; rank < trace_.ranks.size(); ++rank) add_nodes(rank);
    add_messages();
    add_calls();
    problems_.throw_if_any();
    return std::move(workload_);
  }

 private:
  void add_nodes(std::uint32_t rank) {
    const auto first = static_cast<std::uint32_t>(workload_.streams.size());
    first_stream_.push_back(first);
    for (const ChakraNode& node : trace_.ranks[rank].nodes) {
      Activity operation = computation(node);
      for (const std::uint32_t done : node.after) operation.after.push_back({first + done, 0});
      workload_.streams.push_back({members_[rank], stream_name(node), {}});
      workload_.streams.back().operations.push_back(std::move(operation));
    }
  }

  static std::string stream_name(const ChakraNode& node) {
    return node.name.empty() ? fmt::format("node {}", node.id) : node.name;
  }

  /// Of messages and collectives what is here is overwritten.
  static Activity computation(const ChakraNode& node) {
    Activity out;
    if (node.kind < ChakraNode::Kind::send) out.duration = node.duration;
    if (node.kind == ChakraNode::Kind::compute) out.processor = node.on_cpu ? kCpu : kGpu;
    return out;
  }

  void add_messages() {
    const ChakraMessages messages = match_messages(trace_);
    for (std::size_t i = 0; i < messages.nodes.size(); ++i) {
      const MessageEnd& end = messages.ends[i];
      Activity& out = operation(messages.nodes[i]);
      out.kind = end.sending ? Activity::Kind::send : Activity::Kind::receive;
      out.peer = members_[static_cast<std::size_t>(end.sending ? end.to : end.from)];
      out.tag = messages.tags.tags[i];
      out.size = end.size;
    }
  }

  void add_calls() {
    for (const ChakraCall& call : match_collectives(trace_, problems_))
      if (call.nodes.size() > 1) add_call(call);
  }

  void add_call(const ChakraCall& given) {
    const ChakraNode& first = node(given.nodes.front());
    const Bytes message = message_of(first, static_cast<int>(given.nodes.size()));
    CollectiveCall call;
    call.schedule = schedule(given, message);
    if (call.schedule == nullptr) return;
    call.name = fmt::format("{} {}{}", to_string(first.collective), given.number,
                            given.group.empty() ? "" : " of " + given.group);
    call.block = block_of(*call.schedule, message);
    for (std::uint32_t member = 0; member < given.nodes.size(); ++member) {
      call.members.push_back(members_[given.nodes[member].rank]);
      Activity& out = operation(given.nodes[member]);
      out.kind = Activity::Kind::collective;
      out.call = static_cast<std::uint32_t>(workload_.calls.size());
      out.member = member;
    }
    workload_.calls.push_back(std::move(call));
  }

  /// The whole message, of which every rank puts in its own part or all.
  static Bytes message_of(const ChakraNode& node, int ranks) {
    const bool parts =
        node.collective == Collective::all_gather || node.collective == Collective::gather;
    return parts ? node.size * ranks : node.size;
  }

  static Bytes block_of(const Schedule& schedule, Bytes message) {
    const std::int64_t blocks = schedule.blocks();
    if (blocks == 0) return Bytes{};
    return Bytes{message.count() / blocks + (message.count() % blocks == 0 ? 0 : 1)};
  }

  /// Asked for once; if there is none, that is noted once.
  std::shared_ptr<const Schedule> schedule(const ChakraCall& call, Bytes message) {
    const ChakraNode& first = node(call.nodes.front());
    std::vector<int> ranks;
    for (const ChakraNodeRef& ref : call.nodes) ranks.push_back(static_cast<int>(ref.rank));
    const auto [found, fresh] = schedules_.try_emplace({first.collective, ranks, message}, nullptr);
    if (!fresh) return found->second;
    auto chosen = choose_(first.collective, ranks, message);
    if (chosen != nullptr && static_cast<std::size_t>(chosen->ranks()) == ranks.size())
      return found->second = std::move(chosen);
    problems_.add(ConfigError{Problem{
        trace_.ranks[call.nodes.front().rank].file, first.at, fmt::format("node {}", first.id),
        fmt::format("no schedule for {} of {} bytes among {} ranks alone",
                    to_string(first.collective), message.count(), ranks.size())}});
    return nullptr;
  }

  [[nodiscard]] const ChakraNode& node(ChakraNodeRef ref) const {
    return trace_.ranks[ref.rank].nodes[ref.index];
  }
  Activity& operation(ChakraNodeRef ref) {
    return workload_.streams[first_stream_[ref.rank] + ref.index].operations[0];
  }

  const ChakraTrace& trace_;
  std::span<const EndpointId> members_;
  const ChooseSchedule& choose_;
  Problems problems_{""};
  std::vector<std::uint32_t> first_stream_;
  std::map<std::tuple<Collective, std::vector<int>, Bytes>, std::shared_ptr<const Schedule>>
      schedules_;
  Workload workload_;
};

}  // namespace

Workload to_workload(const ChakraTrace& trace, std::span<const EndpointId> members,
                     const ChooseSchedule& choose) {
  return Converter(trace, members, choose).convert();
}

}  // namespace lockstep
