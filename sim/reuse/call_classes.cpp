#include "sim/reuse/call_classes.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "sim/base/hash.hpp"
#include "sim/reuse/communicating_operations.hpp"

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
  Sorter(const Network& network, const Workload& workload, bool only_ports)
      : network_{network},
        only_ports_{only_ports},
        workload_{workload},
        shapes_{network},
        users_(network.links.size()) {
    out_.by_channel = network.router != nullptr && network.router->by_channel();
    std::size_t members = 0;
    for (const CollectiveCall& call : workload.calls) {
      first_member_.push_back(members);
      members += call.members.size();
    }
    called_.resize(members);
  }

  CallClasses run() {
    for (std::uint32_t call = 0; call < workload_.calls.size(); ++call) add_call(call);
    for (std::uint32_t stream = 0; stream < workload_.streams.size(); ++stream) add_stream(stream);
    find_routes();
    find_users();
    for (auto& [way, crossed] : out_.crossed) crossed = groups_on(way);
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
    return static_cast<std::uint32_t>(out_.kinds.size() - 1);
  }

  void find_routes() {
    std::vector<MessageWay> ways;
    for (const auto& [way, crossed] : out_.crossed) ways.push_back(way);
    for (const CallClass& kind : out_.kinds)
      ways.insert(ways.end(), kind.shape.ways.begin(), kind.shape.ways.end());
    out_.routes = std::make_shared<const TightRoutes>(network_, only_ports_, ways);
  }

  [[nodiscard]] const Route& route(const MessageWay& way) {
    return out_.routes->useful() ? out_.routes->of(way).route
                                 : shapes_.route(way.from, way.to, way.tag);
  }

  /// Groups whose messages cross each link.
  void find_users() {
    for (const CallClass& kind : out_.kinds) {
      for (const MessageWay& way : kind.shape.ways)
        for (const Hop& hop : route(way).hops) add_user(hop.link, kind.group);
    }
  }

  void add_user(LinkId link, std::uint32_t group) {
    std::vector<std::uint32_t>& users = users_[link];
    if (std::find(users.begin(), users.end(), group) != users.end()) return;
    if (users.size() <= kMost)
      users.push_back(group);
    else
      groups_[group].crowded = true;
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
    for (const CallMemberSlot& slot : of.calls) add_caller(slot, stream);
    for (const Activity& operation : of.operations) {
      if (operation.kind == Activity::Kind::collective)
        add_caller({operation.call, operation.member}, stream);
    }
    for (const std::uint32_t i : communicating_.of(of)) {
      if (of.all()[i].kind != Activity::Kind::send) continue;
      const Correspondent to = of.end(of.all()[i]);
      add_message({of.endpoint, to.peer, to.tag});
    }
  }

  void add_message(const MessageWay& way) {
    out_.crossed.try_emplace(out_.by_channel ? way : way.any_tag());
  }

  [[nodiscard]] std::vector<std::uint32_t> groups_on(const MessageWay& way) {
    std::vector<std::uint32_t> out;
    for (const Hop& hop : route(way).hops)
      for (const std::uint32_t group : users_[hop.link])
        if (std::find(out.begin(), out.end(), group) == out.end()) out.push_back(group);
    return out;
  }

  void add_caller(CallMemberSlot member_slot, std::uint32_t stream) {
    Group& group = groups_[out_.kinds[out_.of_call[member_slot.call]].group];
    const std::size_t member = first_member_[member_slot.call] + member_slot.member;
    if (!called_[member]) ++group.called;
    called_[member] = true;
    std::uint32_t& caller = group.callers[member_slot.member];
    if (caller == kNone) caller = stream;
    if (caller != stream) group.several_streams = true;
  }

  const Network& network_;
  bool only_ports_;
  const Workload& workload_;
  CallShapes shapes_;
  CallClasses out_;
  std::vector<Group> groups_;
  std::vector<std::vector<std::uint32_t>> users_;  // per link: groups, at most one too many
  std::vector<std::size_t> first_member_;          // per call, among those of all
  std::vector<bool> called_;                       // per member of a call: by some stream
  std::unordered_map<FirstKey, std::vector<std::uint32_t>, FirstHash> known_;  // kinds
  std::map<fold::Key, std::uint32_t> by_members_;
  CommunicatingOperations communicating_;
};

}  // namespace

CallClasses find_call_classes(const Network& network, const Workload& workload, bool only_ports) {
  return Sorter{network, workload, only_ports}.run();
}

}  // namespace lockstep
