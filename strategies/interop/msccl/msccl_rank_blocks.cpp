#include "strategies/interop/msccl/msccl_rank_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "sim/base/check.hpp"
#include "strategies/interop/msccl/msccl_contention.hpp"
#include "strategies/interop/msccl/msccl_step_conflicts.hpp"

namespace lockstep {

namespace {

using Where = MscclRun::Where;
using ItemId = MscclRankBlocks::ItemId;
using Item = MscclRankBlocks::Item;

std::int64_t total(std::span<const MscclRun> runs) {
  std::int64_t count = 0;
  for (const MscclRun& run : runs) count += run.count;
  return count;
}

/// Copies or adds run by run; both lists are equally long in all.
std::vector<Item> moves(std::vector<MscclRun> from, std::vector<MscclRun> to, Combine combine) {
  const MscclOperation operation =
      combine == Combine::reduce ? MscclOperation::reduce : MscclOperation::copy;
  std::vector<Item> items;
  const auto consume = [](MscclRun& run, std::int64_t count) {
    run.first += count;
    run.count -= count;
    return run.count == 0 ? 1U : 0U;
  };
  for (std::size_t i = 0, k = 0; i < from.size() && k < to.size();) {
    const std::int64_t count = std::min(from[i].count, to[k].count);
    items.push_back({operation, from[i], to[k]});
    items.back().source.count = items.back().destination.count = count;
    i += consume(from[i], count);
    k += consume(to[k], count);
  }
  LOCKSTEP_CHECK(!items.empty());
  return items;
}

bool overlap(const Chunk& a, const Chunk& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

bool any_overlap(std::span<const Chunk> a, std::span<const Chunk> b) {
  return std::any_of(a.begin(), a.end(), [b](const Chunk& chunk) {
    return std::any_of(b.begin(), b.end(),
                       [&chunk](const Chunk& other) { return overlap(chunk, other); });
  });
}

/// A lane's last addition that is made for it and that it has not waited for.
struct Late {
  ItemId item = 0;
  std::vector<Chunk> chunks{};  // where it and those before it write
};

class Planner {
 public:
  Planner(const Schedule& schedule, const MscclPlaces& places, int rank, int width)
      : schedule_{schedule},
        places_{places},
        rank_{rank},
        width_{width},
        contention_{schedule, rank},
        local_blocks_(static_cast<std::size_t>(schedule.lanes())),
        done_(static_cast<std::size_t>(schedule.lanes())) {}

  MscclRankBlocks run() {
    for (lane_ = 0; lane_ < schedule_.lanes() && blocks_.problem.empty(); ++lane_) add_lane();
    if (blocks_.problem.empty()) {
      place_additions();
      resolve_names();
    }
    return std::move(blocks_);
  }

 private:
  struct Connection {
    bool sending = false;
    int peer = 0;
    int channel = 0;  // the schedule's
    auto operator<=>(const Connection&) const = default;
  };
  struct Traffic {
    int lane = 0;
    std::int64_t messages = 0;
    std::vector<std::optional<std::uint32_t>> blocks;  // by message modulo width
  };
  /// What something waits for before it begins.
  struct Before {
    std::vector<ItemId> items{};
    std::vector<ScheduleStepRef> steps{};
    [[nodiscard]] std::size_t size() const { return items.size() + steps.size(); }
  };
  /// A step that makes an addition for several lanes, in the order of `depth`.
  struct Addition {
    std::int64_t depth = 0;
    int lane = 0;
    ItemId item = 0;
  };

  void refuse(std::string problem) {
    if (blocks_.problem.empty())
      blocks_.problem = fmt::format("rank {} {}", rank_, std::move(problem));
  }

  void add_lane() {
    known_.assign(static_cast<std::size_t>(schedule_.lanes()), -1);
    late_.reset();
    own_.clear();
    const std::int64_t steps = schedule_.steps(rank_, lane_);
    for (index_ = 0; index_ < steps && blocks_.problem.empty(); ++index_) add_step();
  }

  void add_step() {
    step_.clear();
    schedule_.step(rank_, lane_, index_, step_);
    Before before = before_step();
    const std::size_t transfers = step_.sends.size() + step_.receives.size();
    const bool works = transfers > 0 || !step_.locals.empty();
    const bool many = transfers > 1 && transfers * before.size() > transfers + before.size();
    if (many || (!works && !before.steps.empty())) before = meet(before);
    results_.clear();
    last_.clear();
    add_transfers(before);
    if (transfers > 0) before = {step_.locals.empty() ? results_ : last_};
    add_locals(std::move(before));
    own_ = results_;
    if (late_) results_.push_back(late_->item);
    done_[static_cast<std::size_t>(lane_)].push_back(results_);
  }

  Before before_step() {
    Before before{own_, news()};
    if (late_ && !may_overtake(*late_)) {
      before.items.push_back(late_->item);
      late_.reset();
    }
    return before;
  }

  /// Steps that this one names and that the lane has not waited for before.
  std::vector<ScheduleStepRef> news() {
    std::vector<ScheduleStepRef> news;
    for (const ScheduleStepRef& ref : step_.after) {
      if (ref.lane == lane_) continue;  // an earlier step of its own
      std::int64_t& known = known_[static_cast<std::size_t>(ref.lane)];
      if (ref.step <= known) continue;
      known = ref.step;
      news.push_back(ref);
    }
    return news;
  }

  /// A step that only receives, and elsewhere, does not show whether the additions are over.
  [[nodiscard]] bool may_overtake(const Late& late) const {
    if (!step_.sends.empty() || !step_.locals.empty()) return false;
    return std::none_of(step_.receives.begin(), step_.receives.end(), [&](const Receive& receive) {
      return any_overlap(all_chunks(receive), late.chunks);
    });
  }

  /// A step that only waits, for several at once.
  Before meet(const Before& before) { return {{add_item(local_block(), {}, before)}}; }

  void add_transfers(const Before& before) {
    const std::vector<MscclConflicts> conflicts = find_msccl_conflicts(step_);
    for (const Send& send : step_.sends) {
      results_.push_back(add_send(send, before));
      last_.push_back(results_.back());
    }
    for (std::size_t i = 0; i < step_.receives.size(); ++i) {
      Before others;
      for (const std::size_t send : conflicts[i].sends) others.items.push_back(last_[send]);
      for (const std::size_t receive : conflicts[i].receives)
        others.items.push_back(last_[step_.sends.size() + receive]);
      add_receive(step_.receives[i], before, std::move(others));
    }
  }

  ItemId add_send(const Send& send, const Before& before) {
    const std::uint32_t block = block_for({true, send.peer, send.channel});
    std::vector<MscclRun> runs = runs_of(all_chunks(send));
    const std::int64_t count = total(runs);
    if (count == 0) refuse("sends a message without a chunk, which MSCCL does not have");
    if (runs.empty()) runs.emplace_back();
    if (runs.size() == 1)
      return add_item(block, {MscclOperation::send, runs.front(), runs.front()}, before);
    const MscclRun gathered = stage(block, count);
    add_items(block, moves(std::move(runs), {gathered}, Combine::copy), before);
    return add_item(block, {MscclOperation::send, gathered, gathered}, {});
  }

  /// Straight to its place where nothing of the same step is in the way.
  void add_receive(const Receive& receive, const Before& before, Before others) {
    const std::uint32_t block = block_for({false, receive.peer, receive.channel});
    const std::vector<Chunk> chunks = all_chunks(receive);
    std::vector<MscclRun> runs = runs_of(chunks);
    const bool adds = receive.combine == Combine::reduce;
    if (runs.empty())
      return refuse("receives a message without a chunk, which MSCCL does not have");
    if (adds && contention_.contended(chunks))
      return add_deferred(block, chunks, std::move(runs), before, std::move(others));
    if (runs.size() == 1 && others.items.empty()) {
      const auto operation = adds ? MscclOperation::receive_reduce_copy : MscclOperation::receive;
      results_.push_back(add_item(block, {operation, runs.front(), runs.front()}, before));
    } else {
      const MscclRun arrived = stage(block, total(runs));
      add_item(block, {MscclOperation::receive, arrived, arrived}, before);
      results_.push_back(
          add_items(block, moves({arrived}, std::move(runs), receive.combine), others));
    }
    last_.push_back(results_.back());
  }

  void add_deferred(std::uint32_t block, const std::vector<Chunk>& chunks,
                    std::vector<MscclRun> runs, const Before& before, Before others) {
    const MscclRun arrived{Where::deferred, blocks_.deferred, total(runs)};
    blocks_.deferred += arrived.count;
    results_.push_back(add_item(block, {MscclOperation::receive, arrived, arrived}, before));
    others.items.push_back(results_.back());
    last_.push_back(add_additions(moves({arrived}, std::move(runs), Combine::reduce), others));
    if (!late_) late_.emplace();
    late_->item = last_.back();
    late_->chunks.insert(late_->chunks.end(), chunks.begin(), chunks.end());
  }

  /// In order, after all transfers. A step without any work is over when what it waits for is.
  void add_locals(Before before) {
    for (const LocalOperation& local : step_.locals) {
      if (local.from.count != local.to.count) return refuse("copies between lengths that differ");
      if (local.to.count == 0) continue;
      const bool adds = local.combine == Combine::reduce;
      std::vector<Item> items =
          moves(runs_of({&local.from, 1}), runs_of({&local.to, 1}), local.combine);
      before = {{adds && contention_.contended({&local.to, 1})
                     ? add_additions(std::move(items), before)
                     : add_items(local_block(), std::move(items), before)}};
      late_.reset();  // has been waited for
    }
    results_ = std::move(before.items);
  }

  // Memory.

  template <class Message>
  [[nodiscard]] std::vector<Chunk> all_chunks(const Message& message) const {
    std::vector<Chunk> chunks{message.chunk};
    for (const Chunk& chunk : step_.more(message.more)) chunks.push_back(chunk);
    return chunks;
  }

  std::vector<MscclRun> runs_of(std::span<const Chunk> chunks) {
    std::vector<MscclRun> runs = places_.runs(rank_, chunks);
    for (const MscclRun& run : runs) {
      const std::int64_t end = run.first + run.count;
      if (run.where == Where::spare_data) blocks_.spare_data = std::max(blocks_.spare_data, end);
      if (run.where == Where::spare_output)
        blocks_.spare_output = std::max(blocks_.spare_output, end);
    }
    return runs;
  }

  MscclRun stage(std::uint32_t block, std::int64_t count) {
    std::int64_t& staging = blocks_.blocks[block].staging;
    staging = std::max(staging, count);
    return {Where::staging, 0, count};
  }

  // Blocks.

  std::uint32_t new_block(MscclRankBlocks::Block block) {
    blocks_.blocks.push_back(std::move(block));
    return static_cast<std::uint32_t>(blocks_.blocks.size() - 1);
  }

  /// Messages of a connection take its blocks in turn.
  std::uint32_t block_for(const Connection& connection) {
    if (connection.peer == rank_) refuse("sends to itself, which MSCCL does not have");
    Traffic& traffic = connections_[connection];
    if (traffic.messages == 0) {
      traffic.lane = lane_;
      traffic.blocks.resize(static_cast<std::size_t>(width_));
    }
    if (traffic.lane != lane_) {
      refuse(fmt::format("uses channel {} with rank {} from two lanes", connection.channel,
                         connection.peer));
    }
    const auto turn = static_cast<int>(traffic.messages++ % width_);
    auto& block = traffic.blocks[static_cast<std::size_t>(turn)];
    if (!block) {
      block = new_block({.send = connection.sending ? connection.peer : -1,
                         .receive = connection.sending ? -1 : connection.peer,
                         .channel = connection.channel * width_ + turn});
    }
    return *block;
  }

  std::uint32_t local_block() {
    auto& block = local_blocks_[static_cast<std::size_t>(lane_)];
    if (!block) block = new_block({});
    return *block;
  }

  /// That adds for the lanes which meet this one.
  std::uint32_t adding_block() {
    blocks_.orders_additions = true;
    auto& block = adding_blocks_[contention_.group_of(lane_).value()];
    if (!block) block = new_block({});
    return *block;
  }

  // Items.

  ItemId add_unplaced(std::uint32_t block, Item item, const Before& before) {
    const auto id = static_cast<ItemId>(blocks_.items.size());
    item.after = before.items;
    item.block = block;
    blocks_.items.push_back(std::move(item));
    if (!before.steps.empty()) named_.emplace_back(id, before.steps);
    return id;
  }

  void place(ItemId id) {
    std::vector<ItemId>& items = blocks_.blocks[blocks_.items[id].block].items;
    blocks_.items[id].position = static_cast<std::uint32_t>(items.size());
    items.push_back(id);
  }

  ItemId add_item(std::uint32_t block, Item item, const Before& before) {
    const ItemId id = add_unplaced(block, std::move(item), before);
    place(id);
    return id;
  }

  /// The first of them waits, the others follow it. Returns the last.
  ItemId add_items(std::uint32_t block, std::vector<Item> items, const Before& before) {
    ItemId last = 0;
    for (std::size_t i = 0; i < items.size(); ++i)
      last = add_item(block, std::move(items[i]), i == 0 ? before : Before{});
    return last;
  }

  ItemId add_additions(std::vector<Item> items, const Before& before) {
    const std::uint32_t block = adding_block();
    const std::int64_t depth = contention_.depth_of(lane_, index_);
    ItemId last = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      last = add_unplaced(block, std::move(items[i]), i == 0 ? before : Before{});
      additions_.push_back({depth, lane_, last});
    }
    return last;
  }

  /// As if all lanes went on at one pace.
  void place_additions() {
    std::stable_sort(additions_.begin(), additions_.end(),
                     [](const Addition& a, const Addition& b) {
                       return std::tie(a.depth, a.lane) < std::tie(b.depth, b.lane);
                     });
    for (const Addition& addition : additions_) place(addition.item);
  }

  void resolve_names() {
    for (const auto& [id, steps] : named_) {
      for (const ScheduleStepRef& ref : steps) {
        const auto& done = done_.at(static_cast<std::size_t>(ref.lane));
        const auto& ends = done.at(static_cast<std::size_t>(ref.step));
        std::vector<ItemId>& after = blocks_.items[id].after;
        after.insert(after.end(), ends.begin(), ends.end());
      }
    }
  }

  const Schedule& schedule_;
  const MscclPlaces& places_;
  int rank_;
  int width_;
  MscclContention contention_;
  MscclRankBlocks blocks_;
  std::map<Connection, Traffic> connections_;
  std::vector<std::optional<std::uint32_t>> local_blocks_;              // by lane
  std::map<int, std::optional<std::uint32_t>> adding_blocks_;           // by group of lanes
  std::vector<Addition> additions_;                                     // to be placed
  std::vector<std::vector<std::vector<ItemId>>> done_;                  // what ends a step, by lane
  std::vector<std::pair<ItemId, std::vector<ScheduleStepRef>>> named_;  // items that wait for steps

  // Of the lane at hand.
  int lane_ = 0;
  std::vector<std::int64_t> known_;  // last step of each lane that it has waited for
  std::optional<Late> late_;
  std::vector<ItemId> own_;  // what its next step waits for

  // Of the step at hand.
  std::int64_t index_ = 0;
  ScheduleStep step_;
  std::vector<ItemId> results_;  // what ends it for the lane itself
  std::vector<ItemId> last_;     // what last touches the memory, by transfer
};

}  // namespace

MscclRankBlocks msccl_rank_blocks(const Schedule& schedule, const MscclPlaces& places, int rank,
                                  int width) {
  return Planner{schedule, places, rank, width}.run();
}

}  // namespace lockstep
