#include "sim/execute/device_program/collective_messages.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/math.hpp"
#include "sim/execute/command_graph/schedule_expansion.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"
#include "sim/execute/program/message_form.hpp"
#include "sim/execute/schedule/execute.hpp"

namespace lockstep::execution {

namespace {

constexpr int kAuxiliaryLanes = 1 << 16;  // of ranks beyond the members, behind all others

}  // namespace

CollectiveMessages::CollectiveMessages(const CollectiveMembers& members, const Schedule& schedule,
                                       const CollectiveRoom& room, NumberType type,
                                       Reduction reduction, bool in_doubles)
    : members_{members},
      schedule_{schedule},
      room_{room},
      type_{type},
      reduction_{reduction},
      in_doubles_{in_doubles} {}

Region CollectiveMessages::message(std::size_t member, Buffer which) const {
  return {buffer(static_cast<int>(member), which), 0, schedule_.blocks() * block_};
}

std::size_t CollectiveMessages::member_of(int rank) const {
  const auto own = static_cast<std::size_t>(rank);
  return own < members_.ranks.size() ? own : 0;
}

BufferId CollectiveMessages::buffer(int rank, Buffer which) const {
  const std::int64_t blocks =
      which == Buffer::scratch ? schedule_.scratch_blocks(rank) : schedule_.blocks();
  const std::size_t members = members_.ranks.size();
  const auto own_rank = static_cast<std::size_t>(rank);
  const std::size_t auxiliary = own_rank < members ? 0 : 4 * (own_rank - members + 1);
  return room_.spare(rank_of(rank), own(rank), auxiliary + static_cast<std::size_t>(which),
                     blocks * block_, type_);
}

StreamIndex CollectiveMessages::stream(int rank, int lane) const {
  const int auxiliary = rank - static_cast<int>(members_.ranks.size());
  if (auxiliary < 0) return room_.lane(rank_of(rank), own(rank), lane);
  return room_.lane(rank_of(rank), own(rank),
                    kAuxiliaryLanes + auxiliary * schedule_.lanes() + lane);
}

KernelLaunch CollectiveMessages::launch_of(KernelFunction function, std::int64_t count) const {
  KernelLaunch out = lowering::launch_of(function, count);
  out.in_doubles = in_doubles_;
  out.name = "message";
  return out;
}

void CollectiveMessages::begin(std::int64_t longest) {
  const std::int64_t blocks = schedule_.blocks();
  block_ = ceil_div(std::max<std::int64_t>(1, longest), blocks);
  const bool maximum = reduction_ == Reduction::maximum;
  KernelLaunch fill = launch_of(KernelFunction::fill, blocks * block_);
  fill.numbers = {maximum ? -std::numeric_limits<double>::infinity() : 0.0};
  for (int rank = 0; rank < schedule_.ranks(); ++rank) {
    (void)room_.launch(own(rank), fill, {}, {{buffer(rank, Buffer::data), 0, blocks * block_}});
  }
}

void CollectiveMessages::move(StreamIndex stream, Region from, Region to, Table from_places,
                              Table to_places, std::int64_t count, bool adds) {
  if (count == 0) return;
  KernelLaunch move = launch_of(KernelFunction::move, count);
  move.numbers = {1};
  move.adds = adds ? 1 : 0;
  move.tables = {lowering::table_of(std::move(to_places)),
                 lowering::table_of(std::move(from_places))};
  (void)room_.launch(stream, move, {from}, {to});
}

void CollectiveMessages::clear(StreamIndex stream, Region to) {
  KernelLaunch fill = launch_of(KernelFunction::fill, to.count);
  fill.numbers = {0};
  (void)room_.launch(stream, fill, {}, {to});
}

template <class Each>
void CollectiveMessages::for_each_lane(Each&& each) const {
  for (int rank = 0; rank < schedule_.ranks(); ++rank) {
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      const StreamIndex at = stream(rank, lane);
      if (at != own(rank)) each(at, own(rank));
    }
  }
}

void CollectiveMessages::transfer() {
  CommandGraphBuilder& graph = *room_.builder;
  for_each_lane([&](StreamIndex lane, StreamIndex first) {
    graph.depend(lane, graph.last(first));
    for (const CommandId before : graph.pending(first)) graph.depend(lane, before);
  });
  SchedulePlaces places;
  places.block = block_;
  places.type = type_;
  places.reduction = reduction_;
  places.buffer = [this](int rank, Buffer which) { return buffer(rank, which); };
  places.stream = [this](int rank, int lane) { return stream(rank, lane); };
  ScheduleExpansion expansion{graph, schedule_, std::move(places)};
  const ExecuteOutcome outcome = execute(schedule_, expansion, {.observer = &expansion});
  if (!outcome.finished()) refuse_unfinished(outcome.problem);
  for_each_lane([&](StreamIndex lane, StreamIndex first) {
    graph.depend(first, graph.last(lane));
    const std::vector<CommandId> pending = graph.pending(lane);
    for (const CommandId before : pending) graph.depend(first, before);
  });
}

}  // namespace lockstep::execution
