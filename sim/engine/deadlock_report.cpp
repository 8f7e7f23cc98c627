#include "sim/engine/deadlock_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::engine {

std::string DeadlockReport::describe(Track track) const {
  if (is_lane(track)) return describe(collectives_.lane(track));
  const std::uint32_t stream = track - kStream;
  return fmt::format("rank {}, stream \"{}\", operation {}", workload_.streams[stream].endpoint,
                     workload_.streams[stream].name, streams_[stream].index);
}

std::string DeadlockReport::describe(const Lane& lane) const {
  const CallState& state = collectives_.call(lane.call);
  std::string text = fmt::format("rank {}, {}", lane.member, workload_.calls[lane.call].name);
  if (state.lanes > 1) text += fmt::format(", lane {}", lane.lane);
  return text + fmt::format(", step {} of {}", lane.step, lane.steps);
}

std::string DeadlockReport::describe_post(const ConnectionKey& key, const Post& post) const {
  std::uint32_t peer = post.sending ? key.to : key.from;
  if (is_lane(post.track))
    peer -= collectives_.call(collectives_.lane(post.track).call).first_party;
  std::string text = fmt::format("{}: waits to {} {} bytes {} rank {}", describe(post.track),
                                 post.sending ? "send" : "receive", post.bytes,
                                 post.sending ? "to" : "from", peer);
  if (key.channel != 0) text += fmt::format(" on channel {}", key.channel);
  const std::int64_t step = is_lane(post.track) ? collectives_.lane(post.track).step
                                                : streams_[post.track - kStream].index;
  return text + (step == 0 ? std::string{"; no step matched before"}
                           : fmt::format("; the last step that matched is {}", step - 1));
}

void DeadlockReport::add_connection(const ConnectionKey& key, const SlottedConnection& connection) {
  for (std::size_t i = 0; i < connection.sends.size(); ++i) {
    const Post& send = connection.sends[i];
    out_.push_back({tracks_.endpoint_of(send.track),
                    fmt::format("{}; all {} slots of the connection are taken",
                                describe_post(key, send), connection.slots)});
  }
  for (std::size_t i = 0; i < connection.receives.size(); ++i) {
    const Post& receive = connection.receives[i];
    out_.push_back({tracks_.endpoint_of(receive.track), describe_post(key, receive)});
  }
  for (std::size_t i = 0; i < connection.on_the_way.size(); ++i) {
    const Transfer& left = transfers_.transfer(connection.on_the_way[i]);
    out_.push_back({left.from, fmt::format("rank {}: nobody at rank {} takes {} bytes that it sent",
                                           collectives_.member_of(key.from),
                                           collectives_.member_of(key.to), left.bytes)});
  }
}

/// Members whose streams never came to the call, and steps that wait for others that never end.
void DeadlockReport::add_calls() {
  constexpr const char* kNeverReached = ": its stream never reached it";
  for (std::uint32_t id = 0; id < collectives_.calls(); ++id) {
    const CallState& state = collectives_.call(id);
    const CollectiveCall& call = workload_.calls[id];
    if (state.members_left == 0) continue;
    for (std::uint32_t i = 0; i < call.members.size() * state.lanes; ++i) {
      const std::uint32_t member = i / state.lanes;
      const std::uint32_t number = i % state.lanes;
      if (state.first_lane == kNone) {
        Lane lane{.call = id, .member = member, .lane = number, .bound = {}};
        lane.steps = call.schedule->steps(static_cast<int>(member), static_cast<int>(number));
        out_.push_back({call.members[member], describe(lane) + kNeverReached});
        continue;
      }
      const Lane& lane = collectives_.lane(state.first_lane + i);
      if (lane.blocked)
        out_.push_back({lane.endpoint, describe(lane) + ": waits for a step of another lane"});
      if (!lane.begun) out_.push_back({lane.endpoint, describe(lane) + kNeverReached});
    }
  }
}

void DeadlockReport::add_streams() {
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    const std::vector<Activity>& operations = workload_.streams[stream].all();
    if (streams_[stream].index == operations.size()) continue;
    const Track track = kStream | stream;
    const Activity& next = operations[streams_[stream].index];
    const std::uint32_t call = next.kind == Activity::Kind::collective
                                   ? workload_.streams[stream].member_slot(next).call
                                   : kNone;
    if (call != kNone && workload_.calls[call].takes && streams_[stream].busy) {
      out_.push_back({tracks_.endpoint_of(track),
                      fmt::format("{}: waits for {} others in {}", describe(track),
                                  collectives_.call(call).awaited, workload_.calls[call].name)});
    }
    if (streams_[stream].busy) continue;
    out_.push_back(
        {tracks_.endpoint_of(track), describe(track) + ": waits for operations of other streams"});
  }
}

std::vector<Unfinished> DeadlockReport::write() {
  transfers_.unmatched().each_waiting([&](const ConnectionKey& key, const Post& post) {
    out_.push_back({tracks_.endpoint_of(post.track), describe_post(key, post)});
  });
  transfers_.connections().each(
      [this](const ConnectionKey& key, const SlottedConnection& connection) {
        add_connection(key, connection);
      });
  for (const Transfer& transfer : transfers_.all()) {
    if (!transfer.bound || transfer.posted == 0) continue;
    const bool sending = transfer.posted == Transfer::kSender;
    const Track track = sending ? transfer.sender : transfer.receiver;
    out_.push_back({tracks_.endpoint_of(track),
                    describe_post(collectives_.connection(transfer.sender, transfer.receiver,
                                                          transfer.channel),
                                  {track, sending, transfer.reduces, true, transfer.bytes, 0})});
  }
  add_calls();
  add_streams();
  std::sort(out_.begin(), out_.end(), [](const Unfinished& a, const Unfinished& b) {
    return a.endpoint != b.endpoint ? a.endpoint < b.endpoint : a.text < b.text;
  });
  return std::move(out_);
}

}  // namespace lockstep::engine
