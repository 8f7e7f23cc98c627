#include "sim/reuse/call_classes.hpp"

#include <algorithm>
#include <unordered_map>

namespace lockstep {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// Calls with the same members.
struct Group {
  std::vector<std::uint32_t> callers;  // per member: its stream; none of those that follow others
  std::size_t called = 0;              // so many members in all its calls
  std::size_t calls = 0;
  bool secluded = true;

  /// Whether streams call the same members every time.
  [[nodiscard]] bool is_called() const {
    const auto uncalled = std::count(callers.begin(), callers.end(), kNone);
    const auto per_call = callers.size() - static_cast<std::size_t>(uncalled);
    return per_call > 0 && called == calls * per_call;
  }
};

class Sorter {
 public:
  Sorter(const Network& network, const Workload& workload)
      : workload_{workload},
        shapes_{network},
        user_(network.links.size(), kNone),
        called_(workload.calls.size(), false) {}

  CallClasses run() {
    for (std::uint32_t call = 0; call < workload_.calls.size(); ++call) add_call(call);
    for (std::uint32_t stream = 0; stream < workload_.streams.size(); ++stream) add_stream(stream);
    for (Group& group : groups_)
      if (!group.is_called()) group.secluded = false;
    for (std::size_t kind = 0; kind < out_.kinds.size(); ++kind)
      out_.kinds[kind].secluded = groups_[group_of_kind_[kind]].secluded;
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t kMessages = UINT32_MAX - 1;  // user of links

  [[nodiscard]] const CollectiveCall& first_call(std::uint32_t kind) const {
    return workload_.calls[out_.kinds[kind].call];
  }

  void add_call(std::uint32_t call) {
    const CollectiveCall& of = workload_.calls[call];
    std::vector<std::uint32_t>& known = by_schedule_[of.schedule.get()];
    const auto found = std::find_if(known.begin(), known.end(), [&](std::uint32_t kind) {
      return first_call(kind).members == of.members && first_call(kind).block == of.block;
    });
    const std::uint32_t kind = found != known.end() ? *found : add_kind(call);
    if (found == known.end()) known.push_back(kind);
    out_.of_call.push_back(kind);
    Group& group = groups_[group_of_kind_[kind]];
    ++group.calls;
    // A member that begins at a time of its own is in no order with what streams call.
    if (!of.starts.empty()) group.secluded = false;
  }

  std::uint32_t add_kind(std::uint32_t call) {
    const CollectiveCall& of = workload_.calls[call];
    out_.kinds.push_back({call, shapes_.of(of)});
    const std::uint32_t group = group_of(of.members);
    group_of_kind_.push_back(group);
    for (const LinkId link : out_.kinds.back().shape.links) uses(group, link);
    return static_cast<std::uint32_t>(out_.kinds.size() - 1);
  }

  std::uint32_t group_of(const std::vector<EndpointId>& members) {
    fold::KeyBuilder key;
    for (const EndpointId member : members) key.add(member);
    const auto [found, is_new] =
        by_members_.try_emplace(key.key(), static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.push_back({.callers = std::vector(members.size(), kNone)});
    return found->second;
  }

  void uses(std::uint32_t user, LinkId link) {
    std::uint32_t& known = user_[link];
    if (known == kNone) known = user;
    if (known == user) return;
    if (known != kMessages) groups_[known].secluded = false;
    if (user != kMessages) groups_[user].secluded = false;
  }

  void add_stream(std::uint32_t stream) {
    const Stream& of = workload_.streams[stream];
    for (const Activity& operation : of.all()) {
      if (operation.kind == Activity::Kind::collective)
        add_caller(of.member_slot(operation), stream);
      if (operation.kind != Activity::Kind::send) continue;
      const Correspondent to = of.end(operation);
      for (const Hop& hop : shapes_.route(of.endpoint, to.peer, to.tag).hops)
        uses(kMessages, hop.link);
    }
  }

  void add_caller(CallMemberSlot member_slot, std::uint32_t stream) {
    Group& group = groups_[group_of_kind_[out_.of_call[member_slot.call]]];
    const bool alone = group.callers.size() == 1;  // such calls may be called again
    if (!alone || !called_[member_slot.call]) ++group.called;
    called_[member_slot.call] = true;
    std::uint32_t& caller = group.callers[member_slot.member];
    if (caller == kNone) caller = stream;
    if (caller != stream) group.secluded = false;
  }

  const Workload& workload_;
  CallShapes shapes_;
  CallClasses out_;
  std::vector<std::uint32_t> group_of_kind_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> user_;  // per link: the first group that crosses it, or kMessages
  std::vector<bool> called_;         // per call: by some stream
  std::unordered_map<const Schedule*, std::vector<std::uint32_t>> by_schedule_;  // kinds
  std::map<fold::Key, std::uint32_t> by_members_;
};

}  // namespace

CallClasses find_call_classes(const Network& network, const Workload& workload) {
  return Sorter{network, workload}.run();
}

}  // namespace lockstep
