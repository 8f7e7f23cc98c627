#include "sim/execute/command_graph/schedule_expansion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.hpp"

namespace lockstep {

namespace {

constexpr int kNobody = -1;
constexpr int kSeveral = -2;
constexpr std::size_t kBuffers = 3;

[[nodiscard]] bool overlap(const Chunk& a, const Chunk& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

[[nodiscard]] std::int64_t total(const std::vector<Region>& runs) {
  std::int64_t out = 0;
  for (const Region& run : runs) out += run.count;
  return out;
}

/// Calls each(part of a, equally long part of b) for lists of the same length.
template <class Each>
void for_each_pair(std::vector<Region> a, std::vector<Region> b, Each&& each) {
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const std::int64_t count = std::min(a[i].count, b[k].count);
    if (count > 0) {
      each(Region{a[i].buffer, a[i].first, count}, Region{b[k].buffer, b[k].first, count});
    }
    for (Region* run : {&a[i], &b[k]}) {
      run->first += count;
      run->count -= count;
    }
    const bool next_a = a[i].count == 0;
    const bool next_b = b[k].count == 0;
    i += next_a ? 1 : 0;
    k += next_b ? 1 : 0;
  }
}

[[nodiscard]] std::vector<Chunk> runs_of(const ScheduleStep& step, const Send& send) {
  std::vector<Chunk> out{send.chunk};
  const auto more = step.more(send.more);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

[[nodiscard]] bool same(const std::vector<Chunk>& a, const std::vector<Chunk>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Chunk& x, const Chunk& y) {
    return x.buffer == y.buffer && x.first == y.first && x.count == y.count;
  });
}

template <class Each>
void for_each_write(const ScheduleStep& step, Each&& each) {
  for (const Receive& receive : step.receives) {
    each(receive.chunk);
    for (const Chunk& chunk : step.more(receive.more)) each(chunk);
  }
  for (const LocalOperation& local : step.locals) each(local.to);
}

}  // namespace

ScheduleExpansion::ScheduleExpansion(CommandGraphBuilder& graph, const Schedule& schedule,
                                     SchedulePlaces places)
    : graph_{graph},
      schedule_{schedule},
      places_{std::move(places)},
      rendezvous_{schedule.slots() == 0},
      lanes_(static_cast<std::size_t>(schedule.ranks()) *
             static_cast<std::size_t>(schedule.lanes())) {
  note_writers();
}

std::size_t ScheduleExpansion::index(const ScheduleStepIndex& place) const {
  return static_cast<std::size_t>(place.rank) * static_cast<std::size_t>(schedule_.lanes()) +
         static_cast<std::size_t>(place.lane);
}

/// Which lane writes which block; one lane alone is in order with itself.
void ScheduleExpansion::note_writers() {
  if (schedule_.lanes() == 1) return;
  writers_.resize(static_cast<std::size_t>(schedule_.ranks()) * kBuffers);
  ScheduleStep step;
  for (int rank = 0; rank < schedule_.ranks(); ++rank) {
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      for (std::int64_t i = 0; i < schedule_.steps(rank, lane); ++i) {
        step.clear();
        schedule_.step(rank, lane, i, step);
        note_writes(rank, lane, step);
      }
    }
  }
}

void ScheduleExpansion::note_writes(int rank, int lane, const ScheduleStep& step) {
  for_each_write(step, [&](const Chunk& chunk) {
    auto& of = writers_[static_cast<std::size_t>(rank) * kBuffers +
                        static_cast<std::size_t>(chunk.buffer)];
    const auto end = static_cast<std::size_t>(chunk.first + chunk.count);
    if (of.size() < end) of.resize(end, kNobody);
    for (auto block = static_cast<std::size_t>(chunk.first); block < end; ++block) {
      of[block] = of[block] == kNobody || of[block] == lane ? lane : kSeveral;
    }
  });
}

ScheduleExpansion::Runs ScheduleExpansion::regions(int rank, std::span<const Chunk> runs) const {
  Runs out;
  for (const Chunk& run : runs) {
    out.push_back(
        {places_.buffer(rank, run.buffer), run.first * places_.block, run.count * places_.block});
  }
  return out;
}

/// Whether somebody may write what a step sends before it is taken.
bool ScheduleExpansion::may_change(const ScheduleStepIndex& place,
                                   std::span<const Chunk> runs) const {
  if (!rendezvous_) return true;
  for (const Chunk& run : runs) {
    const auto meets = [&](const Chunk& written) { return overlap(run, written); };
    if (std::any_of(posted_writes_.begin(), posted_writes_.end(), meets)) return true;
    if (writers_.empty()) continue;
    const auto& of = writers_[static_cast<std::size_t>(place.rank) * kBuffers +
                              static_cast<std::size_t>(run.buffer)];
    const auto end = std::min(of.size(), static_cast<std::size_t>(run.first + run.count));
    for (auto block = static_cast<std::size_t>(run.first); block < end; ++block) {
      if (of[block] != kNobody && of[block] != place.lane) return true;
    }
  }
  return false;
}

void ScheduleExpansion::begun(const ScheduleStepIndex& place, const ScheduleStep& step) {
  for (const ScheduleStepRef& after : step.after) {
    const auto found = ended_.find({place.rank, after.lane, after.step});
    if (found == ended_.end()) continue;  // it did nothing
    for (const CommandId before : found->second) graph_.depend(stream(place), before);
  }
  posting_ = place;
  posted_writes_.clear();
  for_each_write(step, [this](const Chunk& chunk) { posted_writes_.push_back(chunk); });
  sends_of_read_.clear();
  reads_ = 0;
  std::vector<Chunk> last;
  for (const Send& send : step.sends) {
    std::vector<Chunk> runs = runs_of(step, send);
    if (sends_of_read_.empty() || !same(runs, last)) sends_of_read_.push_back(0);
    ++sends_of_read_.back();
    last = std::move(runs);
  }
}

BlockMemory::Payload ScheduleExpansion::read(int rank, std::span<const Chunk> runs) {
  auto out = std::make_shared<Message>();
  out->from = regions(rank, runs);
  out->local = reads_ == sends_of_read_.size();
  if (out->local) return out;
  out->sender = posting_;
  if (may_change(posting_, runs)) {
    stage(*out);
    out->room->readers = sends_of_read_[reads_];
  } else {
    const StreamIndex own = stream(posting_);
    out->ready = graph_.pending(own);
    out->ready.push_back(graph_.last(own));
  }
  ++reads_;
  return out;
}

/// Room of which all that was sent from it has been taken, or a new one.
ScheduleExpansion::Room& ScheduleExpansion::room_in(std::vector<std::unique_ptr<Room>>& rooms,
                                                    const ScheduleStepIndex& place,
                                                    std::int64_t elements, const char* what) {
  for (const auto& room : rooms) {
    if (room->readers == 0 && room->elements >= elements) return *room;
  }
  const int device = graph_.graph().streams[stream(place)].device;
  rooms.push_back(std::make_unique<Room>());
  rooms.back()->elements = elements;
  rooms.back()->buffer = graph_.add_buffer(
      fmt::format("rank {} lane {} {} {}", place.rank, place.lane, what, rooms.size() - 1), device,
      places_.type, elements);
  return *rooms.back();
}

/// Copies a message aside as it is when the step begins.
void ScheduleExpansion::stage(Message& message) {
  Lane& lane = lanes_[index(message.sender)];
  const StreamIndex own = stream(message.sender);
  Room& room = room_in(lane.rooms, message.sender, total(message.from), "sent");
  for (const CommandId before : room.taken_by) graph_.depend(own, before);
  room.taken_by.clear();
  message.room = &room;
  Region to{room.buffer, 0, 0};
  for (const Region& from : message.from) {
    to.count = from.count;
    if (from.count > 0) graph_.copy(own, to, from);
    to.first += from.count;
  }
  message.from = {{room.buffer, 0, to.first}};
  message.ready = {graph_.last(own)};
}

std::optional<std::string> ScheduleExpansion::write(const ScheduleStepIndex& place,
                                                    std::span<const Chunk> runs,
                                                    const Payload& payload, Combine combine) {
  // The executor hands back what read() made.
  auto& message = *static_cast<Message*>(const_cast<void*>(payload.get()));
  if (message.local) {
    settle(place);
  } else {
    for (const CommandId before : message.ready) graph_.depend(stream(place), before);
  }
  moved_ = kNoCommand;
  move(place, message, regions(place.rank, runs), combine);
  if (moved_ == kNoCommand && !message.local) moved_ = graph_.mark(stream(place));
  taking_ = &message;
  return std::nullopt;
}

void ScheduleExpansion::move(const ScheduleStepIndex& place, const Message& message, const Runs& to,
                             Combine combine) {
  const int device = graph_.graph().streams[stream(place)].device;
  for_each_pair(to, message.from, [&](Region into, Region from) {
    if (graph_.graph().buffers[from.buffer].device != device) {
      move_far(place, message, into, from, combine);
    } else if (combine == Combine::copy) {
      moved_ = graph_.copy(stream(place), into, from);
    } else {
      const auto how =
          places_.reduction == Reduction::sum ? Command::Kind::add : Command::Kind::maximum;
      moved_ = graph_.combine(stream(place), how, into, from);
    }
  });
}

void ScheduleExpansion::move_far(const ScheduleStepIndex& place, const Message& message, Region to,
                                 Region from, Combine combine) {
  const StreamIndex own = stream(place);
  const StreamIndex other = stream(message.sender);
  if (combine == Combine::copy) {
    moved_ = graph_.copy(own, to, from, other);
    return;
  }
  const Room& landing = room_in(lanes_[index(place)].landings, place, to.count, "landed");
  const Region here{landing.buffer, 0, to.count};
  graph_.copy(own, here, from, other);
  const auto how =
      places_.reduction == Reduction::sum ? Command::Kind::add : Command::Kind::maximum;
  moved_ = graph_.combine(own, how, to, here);
}

void ScheduleExpansion::taken(const ScheduleStepIndex& sender, const ScheduleStepIndex&,
                              std::span<const Chunk>, Combine) {
  LOCKSTEP_CHECK(taking_ != nullptr);
  if (rendezvous_) lanes_[index(sender)].open.push_back(moved_);
  if (taking_->room == nullptr) return;
  --taking_->room->readers;
  taking_->room->taken_by.push_back(moved_);
}

void ScheduleExpansion::worked(const ScheduleStepIndex&, const LocalOperation&) {}

/// What the lane does next comes after its sends have been taken.
void ScheduleExpansion::settle(const ScheduleStepIndex& place) {
  Lane& lane = lanes_[index(place)];
  for (const CommandId before : lane.open) graph_.depend(stream(place), before);
  lane.open.clear();
}

void ScheduleExpansion::finished(const ScheduleStepIndex& place) {
  settle(place);
  if (schedule_.lanes() == 1) return;
  const StreamIndex own = stream(place);
  std::vector<CommandId>& ended = ended_[{place.rank, place.lane, place.step}];
  ended = graph_.pending(own);
  if (graph_.last(own) != kNoCommand) ended.push_back(graph_.last(own));
}

}  // namespace lockstep
