#include "sim/reuse/call_classes.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "sim/base/hash.hpp"

namespace lockstep {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
/// Groups on a link, or rivals of a group, that are few enough to look at when a call begins.
constexpr std::size_t kMost = 8;

/// The schedule of a call, and the first of its members.
using FirstKey = std::pair<const Schedule*, EndpointId>;
struct FirstHash {
  std::size_t operator()(const FirstKey& key) const {
    return std::hash<const Schedule*>{}(key.first) +
           static_cast<std::size_t>(key.second * kGoldenGamma);
  }
};

/// Calls with the same members.
struct Group {
  std::vector<std::uint32_t> callers;  // per member: its stream; none of those that follow others
  std::size_t called = 0;              // so many members in all its calls
  std::size_t calls = 0;
  bool several_streams = false;  // a member calls from
  bool starts = false;           // members begin at times of their own
  bool crowded = false;          // too many groups on its links, or unknown ones
  std::vector<std::uint32_t> rivals{};

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
        users_(network.links.size()),
        called_(workload.calls.size(), false) {}

  CallClasses run() {
    for (std::uint32_t call = 0; call < workload_.calls.size(); ++call) add_call(call);
    for (std::uint32_t stream = 0; stream < workload_.streams.size(); ++stream) add_stream(stream);
    find_rivals();
    for (std::uint32_t id = 0; id < groups_.size(); ++id) {
      Group& group = groups_[id];
      if (group.several_streams) group.rivals.push_back(id);
      const bool is_known = group.is_called() && !group.starts && !group.crowded;
      out_.groups.push_back({std::move(group.rivals), is_known});
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const CollectiveCall& first_call(std::uint32_t kind) const {
    return workload_.calls[out_.kinds[kind].call];
  }

  void add_call(std::uint32_t call) {
    const CollectiveCall& of = workload_.calls[call];
    // Calls of one schedule are of many groups, each of few blocks.
    std::vector<std::uint32_t>& known = known_[{of.schedule.get(), of.members.front()}];
    const auto found = std::find_if(known.begin(), known.end(), [&](std::uint32_t kind) {
      return first_call(kind).members == of.members && first_call(kind).block == of.block;
    });
    const std::uint32_t kind = found != known.end() ? *found : add_kind(call);
    if (found == known.end()) known.push_back(kind);
    out_.of_call.push_back(kind);
    Group& group = groups_[out_.kinds[kind].group];
    ++group.calls;
    // A member that begins at a time of its own is in no order with what streams call.
    if (!of.starts.empty()) group.starts = true;
  }

  std::uint32_t add_kind(std::uint32_t call) {
    const CollectiveCall& of = workload_.calls[call];
    const std::uint32_t group = group_of(of.members);
    out_.kinds.push_back({call, shapes_.of(of), group});
    for (const LinkId link : out_.kinds.back().shape.links) {
      std::vector<std::uint32_t>& users = users_[link];
      if (std::find(users.begin(), users.end(), group) != users.end()) continue;
      if (users.size() <= kMost)
        users.push_back(group);
      else
        groups_[group].crowded = true;
    }
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

  /// Groups on the same link.
  void find_rivals() {
    for (const std::vector<std::uint32_t>& users : users_) {
      for (const std::uint32_t group : users) {
        if (users.size() > kMost) groups_[group].crowded = true;
        if (groups_[group].crowded) continue;
        std::vector<std::uint32_t>& rivals = groups_[group].rivals;
        for (const std::uint32_t other : users)
          if (other != group && std::find(rivals.begin(), rivals.end(), other) == rivals.end())
            rivals.push_back(other);
        if (rivals.size() > kMost) groups_[group].crowded = true;
        // Calls that no stream begins come unannounced.
        for (const std::uint32_t rival : rivals)
          if (groups_[rival].starts || !groups_[rival].is_called()) groups_[group].crowded = true;
      }
    }
  }

  void add_stream(std::uint32_t stream) {
    const Stream& of = workload_.streams[stream];
    for (const Activity& operation : of.all()) {
      if (operation.kind == Activity::Kind::collective)
        add_caller(of.member_slot(operation), stream);
      if (operation.kind != Activity::Kind::send) continue;
      const Correspondent to = of.end(operation);
      add_message({of.endpoint, to.peer, to.tag});
    }
  }

  void add_message(const MessageWay& way) {
    const auto [found, is_new] = out_.crossed.try_emplace(way);
    if (!is_new) return;
    std::vector<std::uint32_t>& crossed = found->second;
    for (const Hop& hop : shapes_.route(way.from, way.to, way.tag).hops)
      for (const std::uint32_t group : users_[hop.link])
        if (std::find(crossed.begin(), crossed.end(), group) == crossed.end())
          crossed.push_back(group);
  }

  void add_caller(CallMemberSlot member_slot, std::uint32_t stream) {
    Group& group = groups_[out_.kinds[out_.of_call[member_slot.call]].group];
    const bool alone = group.callers.size() == 1;  // such calls may be called again
    if (!alone || !called_[member_slot.call]) ++group.called;
    called_[member_slot.call] = true;
    std::uint32_t& caller = group.callers[member_slot.member];
    if (caller == kNone) caller = stream;
    if (caller != stream) group.several_streams = true;
  }

  const Workload& workload_;
  CallShapes shapes_;
  CallClasses out_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::uint32_t>> users_;  // per link: groups, at most one too many
  std::vector<bool> called_;                       // per call: by some stream
  std::unordered_map<FirstKey, std::vector<std::uint32_t>, FirstHash> known_;  // kinds
  std::map<fold::Key, std::uint32_t> by_members_;
};

}  // namespace

CallClasses find_call_classes(const Network& network, const Workload& workload) {
  return Sorter{network, workload}.run();
}

}  // namespace lockstep
