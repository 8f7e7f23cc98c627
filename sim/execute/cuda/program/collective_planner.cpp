#include "sim/execute/cuda/program/collective_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/execute/cuda/plan/schedule_expansion.hpp"
#include "sim/execute/cuda/program/lowering_parts.hpp"
#include "sim/execute/host/kernels/execution_error.hpp"
#include "sim/execute/host/program/exchange.hpp"
#include "sim/execute/host/schedule/execute.hpp"

namespace lockstep::execution {

namespace {

constexpr int kHelperLanes = 1 << 16;  // of ranks beyond the members, behind all others

template <class Real>
class CollectivePlan {
 public:
  CollectivePlan(const CollectiveTensors<Real>& of, const Schedule& schedule,
                 const CollectiveRoom& room)
      : of_{of}, schedule_{schedule}, room_{room}, members_{of.members.size()} {
    if (schedule.ranks() < static_cast<int>(members_)) {
      throw ExecutionError{
          fmt::format("a schedule of {} ranks for {} members", schedule.ranks(), members_)};
    }
    for (const CollectivePart& part : of.parts.front()) {
      if (part.from == nullptr) continue;
      type_ = room.builder->plan().buffers[part.brought.buffer].type;
      break;
    }
  }

  void run() {
    switch (of_.how->collective) {
      case Collective::all_reduce:
      case Collective::send_recv:
      case Collective::broadcast:
      case Collective::reduce:
        return run_whole();
      case Collective::all_gather:
        return run_gather();
      case Collective::reduce_scatter:
      case Collective::all_to_all:
        return run_parts();
      default:
        throw ExecutionError{fmt::format("no meaning for {}", to_string(of_.how->collective))};
    }
  }

 private:
  using Table = KernelLaunch::Table;

  // Messages.

  [[nodiscard]] Region message(std::size_t k, Buffer which) const {
    return {buffer(static_cast<int>(k), which), 0, schedule_.blocks() * block_};
  }
  [[nodiscard]] BufferId buffer(int rank, Buffer which) const {
    const std::int64_t blocks =
        which == Buffer::scratch ? schedule_.scratch_blocks(rank) : schedule_.blocks();
    const std::size_t helper =
        rank < static_cast<int>(members_) ? 0 : 4 * (static_cast<std::size_t>(rank) - members_ + 1);
    return room_.spare(rank_of(rank), own(rank), helper + static_cast<std::size_t>(which),
                       blocks * block_, type_);
  }
  /// Helpers are where the first member is.
  [[nodiscard]] int rank_of(int rank) const {
    return of_.members[rank < static_cast<int>(members_) ? static_cast<std::size_t>(rank) : 0];
  }
  [[nodiscard]] StreamIndex own(int rank) const {
    return of_.streams[rank < static_cast<int>(members_) ? static_cast<std::size_t>(rank) : 0];
  }
  [[nodiscard]] StreamIndex stream(int rank, int lane) const {
    const int helper = rank - static_cast<int>(members_);
    if (helper < 0) return room_.lane(rank_of(rank), own(rank), lane);
    return room_.lane(rank_of(rank), own(rank), kHelperLanes + helper * schedule_.lanes() + lane);
  }

  /// Gives every rank a message of `longest` elements, filled with what counts for nothing.
  void begin(std::int64_t longest) {
    const std::int64_t blocks = schedule_.blocks();
    block_ = (std::max<std::int64_t>(1, longest) + blocks - 1) / blocks;
    const bool maximum = of_.how->reduction == Reduction::maximum;
    KernelLaunch fill = lowering::launch_of(KernelFunction::fill, blocks * block_);
    fill.numbers = {maximum ? -std::numeric_limits<double>::infinity() : 0.0};
    fill.in_doubles = sizeof(Real) == sizeof(double);
    fill.name = "message";
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      (void)room_.launch(own(rank), fill, {}, {{buffer(rank, Buffer::data), 0, blocks * block_}});
    }
  }

  /// Moves elements of one buffer to another; tables null: one after the other. Counts those that
  /// come from somewhere.
  void move(StreamIndex stream, Region from, Region to, Table from_places, Table to_places,
            std::int64_t count, bool adds) {
    if (count == 0) return;
    KernelLaunch move = lowering::launch_of(KernelFunction::move, count);
    move.numbers = {1};
    move.adds = adds;
    move.in_doubles = sizeof(Real) == sizeof(double);
    move.name = "message";
    move.tables = {lowering::table_of(std::move(to_places)),
                   lowering::table_of(std::move(from_places))};
    (void)room_.launch(stream, move, {from}, {to});
  }
  void move(StreamIndex stream, Region from, Region to, bool adds) {
    move(stream, from, to, {}, {}, from.count, adds);
  }

  /// Runs the schedule: lanes begin when their rank's message is packed, and what the rank does
  /// next comes after all of them.
  void transfer() {
    PlanBuilder& plan = *room_.builder;
    for_each_lane([&](StreamIndex lane, StreamIndex first) {
      plan.depend(lane, plan.last(first));
      for (const CommandId before : plan.pending(first)) plan.depend(lane, before);
    });
    SchedulePlaces places;
    places.block = block_;
    places.type = type_;
    places.reduction = of_.how->reduction;
    places.buffer = [this](int rank, Buffer which) { return buffer(rank, which); };
    places.stream = [this](int rank, int lane) { return stream(rank, lane); };
    ScheduleExpansion expansion{plan, schedule_, std::move(places)};
    const ExecuteOutcome outcome = execute(schedule_, expansion, {.observer = &expansion});
    if (!outcome.finished()) {
      throw ExecutionError{outcome.problem.empty() ? "its schedule cannot end" : outcome.problem};
    }
    for_each_lane([&](StreamIndex lane, StreamIndex first) {
      plan.depend(first, plan.last(lane));
      const std::vector<CommandId> pending = plan.pending(lane);
      for (const CommandId before : pending) plan.depend(first, before);
    });
  }

  template <class Each>
  void for_each_lane(Each&& each) {
    for (int rank = 0; rank < schedule_.ranks(); ++rank) {
      for (int lane = 0; lane < schedule_.lanes(); ++lane) {
        const StreamIndex at = stream(rank, lane);
        if (at != own(rank)) each(at, own(rank));
      }
    }
  }

  [[nodiscard]] std::int64_t padded(std::int64_t part) const {
    const std::int64_t blocks = schedule_.blocks() / static_cast<std::int64_t>(members_);
    return (std::max<std::int64_t>(1, part) + blocks - 1) / blocks * blocks;
  }

  // Everybody has the same message, or takes it as it comes.

  void run_whole() {
    std::int64_t longest = 1;
    for (std::size_t k = 0; k < members_; ++k) {
      std::int64_t own = 0;
      for (const auto& parts : of_.parts)
        own += parts[k].from == nullptr ? 0 : parts[k].brought.count;
      longest = std::max(longest, own);
    }
    check_same();
    begin(longest);
    for (std::size_t k = 0; k < members_; ++k) {
      Region to = message(k, Buffer::data);
      for (const auto& parts : of_.parts) {
        if (parts[k].from == nullptr) continue;
        to.count = parts[k].brought.count;
        move(of_.streams[k], parts[k].brought, to, false);
        to.first += to.count;
      }
    }
    transfer();
    for (std::size_t k = 0; k < members_; ++k) {
      Region from = message(k, schedule_.result());
      for (const auto& parts : of_.parts) {
        if (parts[k].to == nullptr) continue;
        from.count = parts[k].got.count;
        move(of_.streams[k], from, parts[k].got, parts[k].adds);
        from.first += from.count;
      }
    }
  }

  void check_same() const {
    for (const auto& parts : of_.parts) {
      const PartLayout* first = nullptr;
      for (const CollectivePart& part : parts) {
        for (const PartLayout* layout : {part.from, part.to}) {
          if (layout == nullptr) continue;
          if (first == nullptr) first = layout;
          const bool alike =
              of_.how->collective == Collective::send_recv ||
              (layout->axes == first->axes && layout->first_flat == first->first_flat);
          if (alike && layout->elements() == first->elements()) continue;
          throw ExecutionError{"members hold different parts of one message"};
        }
      }
    }
  }

  // Every member has a part for everyone.

  /// What `from` has of what `to` holds: places there and here.
  struct Common {
    Table from;
    Table to;
    [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(from.size()); }
  };
  [[nodiscard]] static Common common(const PartLayout& from, const PartLayout& to) {
    Common out;
    const Table places = lowering::places_of_common(from, to);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) continue;
      out.from.push_back(places[i]);
      out.to.push_back(static_cast<std::int64_t>(i));
    }
    return out;
  }

  void run_gather() {
    std::int64_t part = 0;
    for (std::size_t k = 0; k < members_; ++k) {
      std::int64_t own = 0;
      for (const auto& parts : of_.parts) own += parts[k].brought.count;
      part = std::max(part, own);
    }
    part = padded(part);
    begin(part * static_cast<std::int64_t>(members_));
    for (std::size_t k = 0; k < members_; ++k) {
      Region to = message(k, Buffer::data);
      to.first = static_cast<std::int64_t>(k) * part;
      for (const auto& parts : of_.parts) {
        to.count = parts[k].brought.count;
        move(of_.streams[k], parts[k].brought, to, false);
        to.first += to.count;
      }
    }
    transfer();
    for (std::size_t k = 0; k < members_; ++k) take_gathered(k, part);
  }

  void take_gathered(std::size_t k, std::int64_t part) {
    zero_results(k);
    std::vector<std::int64_t> come(of_.parts.size(), 0);
    for (std::size_t other = 0; other < members_; ++other) {
      Region from = message(k, schedule_.result());
      from.first = static_cast<std::int64_t>(other) * part;
      for (std::size_t i = 0; i < of_.parts.size(); ++i) {
        const CollectivePart& own = of_.parts[i][k];
        from.count = of_.parts[i][other].brought.count;
        Common of = common(*of_.parts[i][other].from, *own.to);
        come[i] += of.count();
        const std::int64_t count = of.count();
        move(of_.streams[k], from, own.got, std::move(of.from), std::move(of.to), count, own.adds);
        from.first += from.count;
      }
    }
    for (std::size_t i = 0; i < of_.parts.size(); ++i) check_come(come[i], *of_.parts[i][k].to, 1);
  }

  static void check_come(std::int64_t come, const PartLayout& to, std::int64_t times) {
    if (come == times * to.filled()) return;
    throw ExecutionError{
        fmt::format("{} elements come where {} are to come", come, times * to.filled())};
  }

  void zero_results(std::size_t k) {
    for (const auto& parts : of_.parts) {
      if (parts[k].adds) continue;
      KernelLaunch fill = lowering::launch_of(KernelFunction::fill, parts[k].got.count);
      fill.numbers = {0};
      fill.in_doubles = sizeof(Real) == sizeof(double);
      fill.name = "message";
      (void)room_.launch(of_.streams[k], fill, {}, {parts[k].got});
    }
  }

  /// reduce_scatter: part r of the sum; all_to_all: from everyone what he has of one's own.
  void run_parts() {
    std::int64_t part = 0;
    for (const auto& parts : of_.parts) {
      std::int64_t longest = 0;
      for (const CollectivePart& one : parts) longest = std::max(longest, one.got.count);
      part += longest;
    }
    part = padded(part);
    begin(part * static_cast<std::int64_t>(members_));
    const bool sums = of_.how->collective == Collective::reduce_scatter;
    for (std::size_t other = 0; other < members_; ++other) pack_for(other, part, sums);
    transfer();
    for (std::size_t k = 0; k < members_; ++k) {
      zero_results(k);
      for (std::size_t other = 0; other < members_; ++other) {
        if (!sums || other == k) take_part(k, other, part);
      }
    }
  }

  void pack_for(std::size_t other, std::int64_t part, bool sums) {
    std::vector<std::int64_t> come(of_.parts.size(), 0);
    for (std::size_t k = 0; k < members_; ++k) {
      Region to = message(k, Buffer::data);
      to.first = static_cast<std::int64_t>(other) * part;
      for (std::size_t i = 0; i < of_.parts.size(); ++i) {
        Common of = common(*of_.parts[i][k].from, *of_.parts[i][other].to);
        to.count = of_.parts[i][other].got.count;
        come[i] += of.count();
        const std::int64_t count = of.count();
        move(of_.streams[k], of_.parts[i][k].brought, to, std::move(of.from), std::move(of.to),
             count, false);
        to.first += to.count;
      }
    }
    const std::int64_t times = sums ? static_cast<std::int64_t>(members_) : 1;
    for (std::size_t i = 0; i < of_.parts.size(); ++i) {
      check_come(come[i], *of_.parts[i][other].to, times);
    }
  }

  void take_part(std::size_t k, std::size_t other, std::int64_t part) {
    Region from = message(k, schedule_.result());
    from.first = static_cast<std::int64_t>(other) * part;
    for (const auto& parts : of_.parts) {
      from.count = parts[k].got.count;
      move(of_.streams[k], from, parts[k].got, true);
      from.first += from.count;
    }
  }

  const CollectiveTensors<Real>& of_;
  const Schedule& schedule_;
  const CollectiveRoom& room_;
  std::size_t members_;
  std::int64_t block_ = 1;
  NumberType type_ = NumberType::fp32;
};

/// By its meaning, all members at once, on the host.
template <class Real>
void plan_on_host(const CollectiveTensors<Real>& of, const CollectiveRoom& room) {
  PlanBuilder& plan = *room.builder;
  KernelLaunch launch = lowering::launch_of(KernelFunction::on_host, 1);
  launch.name = std::string{to_string(of.how->collective)};
  std::vector<Region> reads;
  std::vector<Region> writes;
  for (const auto& parts : of.parts) {
    for (const CollectivePart& part : parts) {
      if (part.from != nullptr) reads.push_back(part.brought);
      if (part.to != nullptr) writes.push_back(part.got);
    }
  }
  for (const Region& region : reads) launch.sizes.push_back(region.count);
  for (const Region& region : writes) launch.sizes.push_back(region.count);
  launch.on_host = [parts = of.parts, how = *of.how, root = of.root](const auto& read,
                                                                     auto& written) {
    std::size_t next_read = 0;
    std::size_t next_written = 0;
    for (const auto& tensor : parts) {
      std::vector<std::vector<Real>> brought(tensor.size());
      std::vector<ExchangePart<Real>> members;
      for (std::size_t k = 0; k < tensor.size(); ++k) {
        ExchangePart<Real>& member = members.emplace_back();
        if (tensor[k].from != nullptr) {
          const auto& values = read[next_read++];
          brought[k].assign(values.begin(), values.end());
          member.from = tensor[k].from;
          member.brought = &brought[k];
        }
        if (tensor[k].to == nullptr) continue;
        member.to = tensor[k].to;
        member.got.assign(static_cast<std::size_t>(member.to->elements()), 0);
      }
      check_order(how, members);
      exchange(how, root, members);
      for (std::size_t k = 0; k < tensor.size(); ++k) {
        if (tensor[k].to == nullptr) continue;
        std::vector<double>& result = written[next_written++];
        for (std::size_t i = 0; i < result.size(); ++i) {
          result[i] = static_cast<double>(members[k].got[i]) + (tensor[k].adds ? result[i] : 0);
        }
      }
    }
  };
  for (const StreamIndex stream : of.streams) {
    plan.depend(of.streams[0], plan.last(stream));
    const std::vector<CommandId> pending = plan.pending(stream);
    for (const CommandId before : pending) plan.depend(of.streams[0], before);
  }
  const CommandId done = room.launch(of.streams[0], launch, std::move(reads), std::move(writes));
  for (const StreamIndex stream : of.streams) plan.depend(stream, done);
}

}  // namespace

template <class Real>
void plan_collective(const CollectiveTensors<Real>& tensors, const Schedule* schedule,
                     const CollectiveRoom& room) {
  if (schedule == nullptr) {
    plan_on_host(tensors, room);
  } else {
    CollectivePlan<Real>{tensors, *schedule, room}.run();
  }
}

template void plan_collective(const CollectiveTensors<float>&, const Schedule*,
                              const CollectiveRoom&);
template void plan_collective(const CollectiveTensors<double>&, const Schedule*,
                              const CollectiveRoom&);

}  // namespace lockstep::execution
