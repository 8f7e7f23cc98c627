#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/engine/recorded_work.hpp"
#include "sim/engine/reused_calls.hpp"

namespace lockstep::engine {

namespace {

/// Records of fewer operations from cut to cut cost more than they save.
constexpr std::size_t kLeastBetweenCuts = 6;

}  // namespace

/// Finds cells of at most so many endpoints, and those of one pattern.
class RecordedWork::Finder {
 public:
  Finder(const ReplayState& state, const ReusedCalls& reused, std::size_t most_endpoints)
      : workload_{*state.workload},
        reused_{reused},
        at_(state.network->endpoints.size()),
        own_(workload_.streams.size(), false),
        number_(workload_.calls.size(), kNone),
        most_{most_endpoints},
        root_(at_.size()) {
    std::iota(root_.begin(), root_.end(), 0U);
  }

  void run() {
    for (std::uint32_t s = 0; s < workload_.streams.size(); ++s)
      at_[workload_.streams[s].endpoint].push_back(s);
    find_private_calls();
    std::vector<bool> changes(at_.size(), false);
    for (const SpeedChange& change : workload_.speed_changes) changes[change.endpoint] = true;
    for (EndpointId endpoint = 0; endpoint < at_.size(); ++endpoint)
      if (!changes[endpoint]) find_own(at_[endpoint]);
    leave_out_joined_by_others();
    join();
    std::map<EndpointId, std::vector<EndpointId>> joined;
    for (EndpointId endpoint = 0; endpoint < at_.size(); ++endpoint)
      joined[root(endpoint)].push_back(endpoint);
    for (auto& [first, endpoints] : joined)
      if (endpoints.size() <= most_) add(std::move(endpoints));
    drop_single();
  }

  /// Operations of all cells but the first of each pattern.
  [[nodiscard]] std::size_t most_followed() const { return most_followed_; }

  void put(RecordedWork& out) {
    out.place_.resize(workload_.streams.size());
    out.cell_at_.assign(at_.size(), kNone);
    out.cells_ = std::move(cells_);
    out.patterns_ = std::move(patterns_);
    for (std::uint32_t id = 0; id < out.cells_.size(); ++id) {
      const Cell& cell = out.cells_[id];
      for (const EndpointId endpoint : cell.endpoints) out.cell_at_[endpoint] = id;
      for (std::uint32_t own = 0; own < cell.streams.size(); ++own)
        out.place_[cell.streams[own]] = {id, own, out.patterns_[cell.pattern].cuts[own].data()};
    }
  }

 private:
  [[nodiscard]] EndpointId root(EndpointId of) {
    while (root_[of] != of) of = root_[of] = root_[root_[of]];
    return of;
  }

  void find_private_calls() {
    for (std::uint32_t call = 0; call < workload_.calls.size(); ++call)
      shapes_.push_back(
          workload_.calls[call].members.size() <= most_ ? reused_.shape_of_private(call) : nullptr);
  }

  /// Of one endpoint, if all of its streams have patterns and belong together.
  void find_own(const std::vector<std::uint32_t>& streams) {
    for (const std::uint32_t s : streams)
      if (const Stream& of = workload_.streams[s];
          !of.pattern || of.first_stream != workload_.streams[streams.front()].first_stream)
        return;
    for (const std::uint32_t s : streams) {
      const Stream& of = workload_.streams[s];
      own_[s] = has_no_messages(of) &&
                std::all_of(of.calls.begin(), of.calls.end(), [&](const CallMemberSlot& slot) {
                  return shapes_[slot.call] != nullptr;
                });
    }
  }

  [[nodiscard]] bool has_no_messages(const Stream& of) {
    const auto [found, is_new] = plain_.try_emplace(of.pattern.get(), true);
    if (is_new)
      found->second = std::all_of(of.all().begin(), of.all().end(), [](const Activity& operation) {
        return operation.kind == Activity::Kind::compute ||
               operation.kind == Activity::Kind::collective;
      });
    return found->second;
  }

  /// A stream is not own if other members of its calls are called by streams that are not.
  void leave_out_joined_by_others() {
    std::vector<std::uint32_t> callers(workload_.calls.size(), 0);
    for (std::uint32_t s = 0; s < own_.size(); ++s)
      if (own_[s])
        for (const CallMemberSlot& slot : workload_.streams[s].calls) ++callers[slot.call];
    const auto is_joined = [&](const CallMemberSlot& slot) {
      const std::size_t members = workload_.calls[slot.call].members.size();
      return members > 1 && callers[slot.call] < members;
    };
    bool changed = true;
    while (std::exchange(changed, false)) {
      for (std::uint32_t s = 0; s < own_.size(); ++s) {
        if (!own_[s]) continue;
        const std::vector<CallMemberSlot>& calls = workload_.streams[s].calls;
        if (std::none_of(calls.begin(), calls.end(), is_joined)) continue;
        own_[s] = false;
        for (const CallMemberSlot& slot : calls) --callers[slot.call];
        changed = true;
      }
    }
  }

  /// Endpoints whose own streams call a collective together.
  void join() {
    for (std::uint32_t s = 0; s < own_.size(); ++s) {
      if (!own_[s]) continue;
      for (const CallMemberSlot& slot : workload_.streams[s].calls) {
        if (slot.member != 0) continue;
        const std::vector<EndpointId>& members = workload_.calls[slot.call].members;
        for (const EndpointId member : members) {
          const EndpointId a = root(members.front());
          const EndpointId b = root(member);
          root_[std::max(a, b)] = std::min(a, b);
        }
      }
    }
  }

  void add(std::vector<EndpointId> endpoints) {
    Cell cell;
    fold::KeyBuilder whole;
    bool calls = false;
    std::uint32_t numbers = 0;  // of the cell's calls, in the order in which they are met
    std::optional<fold::Key> first;
    bool alike = true;  // all endpoints have one program, and are in the same calls
    for (const EndpointId endpoint : endpoints) {
      fold::KeyBuilder key;
      for (const std::uint32_t s : at_[endpoint]) {
        const Stream& of = workload_.streams[s];
        if (!of.pattern) return;
        key.add(std::uint64_t{s - of.first_stream})
            .add(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(of.pattern.get())))
            .add(own_[s] ? 1 : 0);
        if (!own_[s]) continue;
        cell.streams.push_back(s);
        for (const CallMemberSlot& slot : of.calls) {
          const CollectiveCall& call = workload_.calls[slot.call];
          key.add(*shapes_[slot.call]).add(workload_.permille_during(call));
          if (call.members.size() == 1) continue;
          std::uint32_t& number = number_[slot.call];
          if (number == kNone) number = numbers++;
          key.add(number);
        }
        calls = calls || !of.calls.empty();
      }
      key.add(std::uint64_t{at_[endpoint].size()});
      alike = alike && key.key() == first.value_or(key.key());
      first = key.key();
      whole.add(key.key());
    }
    if (!calls) return;  // computations one after the other are one event anyway
    cell.endpoints = std::move(endpoints);
    const auto [found, is_new] =
        pattern_of_.try_emplace(whole.key(), static_cast<std::uint32_t>(patterns_.size()));
    if (is_new) {
      patterns_.push_back(pattern(cell));
      if (alike && cell.endpoints.size() > 1)
        patterns_.back().alike =
            static_cast<std::uint32_t>(cell.streams.size() / cell.endpoints.size());
    }
    cell.pattern = found->second;
    ++patterns_[cell.pattern].cells;
    cells_.push_back(std::move(cell));
  }

  [[nodiscard]] Pattern pattern(const Cell& cell) const {
    Pattern out;
    for (const std::uint32_t s : cell.streams)
      out.cuts.emplace_back(workload_.streams[s].all().size(), 0);
    for (const EndpointId endpoint : cell.endpoints) add_cuts(cell, endpoint, out);
    return out;
  }

  void add_cuts(const Cell& cell, EndpointId endpoint, Pattern& out) const {
    const std::vector<std::uint32_t>& streams = at_[endpoint];
    const std::uint32_t first = workload_.streams[streams.front()].first_stream;
    std::map<std::uint32_t, std::uint32_t> own;  // by stream, relative to the first
    for (std::uint32_t i = 0; i < cell.streams.size(); ++i)
      if (workload_.streams[cell.streams[i]].endpoint == endpoint)
        own.emplace(cell.streams[i] - first, i);
    const auto cut = [&](const ActivityRef& ref) {
      if (const auto found = own.find(ref.stream); found != own.end())
        out.cuts[found->second][ref.index] = 1;
    };
    for (const std::uint32_t s : streams) {
      const bool is_own = own.contains(s - first);
      const std::vector<Activity>& operations = workload_.streams[s].all();
      std::map<std::uint32_t, std::uint32_t> done;  // of other streams, before the next operation
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        const auto& after = operations[i].after;
        bool waits_for_others = !is_own;
        for (const ActivityRef& ref : after) {
          if (!is_own || own.contains(ref.stream)) continue;
          std::uint32_t& known = done[ref.stream];
          if (ref.index < known) continue;
          known = ref.index + 1;
          waits_for_others = true;
        }
        if (!waits_for_others) continue;
        for (const ActivityRef& ref : after) cut(ref);
        if (is_own && i > 0) cut({s - first, i - 1});
      }
    }
  }

  /// Leaves out cells that have nothing in common with others, and those cut too often.
  void drop_single() {
    std::vector<bool> pays;
    for (const Pattern& pattern : patterns_) {
      std::size_t operations = 0;
      std::size_t cuts = 1;
      for (const std::vector<std::uint8_t>& stream : pattern.cuts) {
        operations += stream.size();
        cuts += static_cast<std::size_t>(std::count(stream.begin(), stream.end(), 1));
      }
      pays.push_back(pattern.cells > 1 && operations >= kLeastBetweenCuts * cuts);
      if (pays.back()) most_followed_ += (pattern.cells - 1) * operations;
    }
    std::erase_if(cells_, [&](const Cell& cell) { return !pays[cell.pattern]; });
  }

  const Workload& workload_;
  const ReusedCalls& reused_;
  std::vector<std::vector<std::uint32_t>> at_;  // per endpoint: its streams
  std::vector<bool> own_;                       // per stream
  std::vector<const fold::Key*> shapes_;        // per call; null: not private, or too large
  std::vector<std::uint32_t> number_;           // per call of several members, in its cell
  std::size_t most_;
  std::vector<EndpointId> root_;  // of the endpoints joined with each
  std::map<const void*, bool> plain_;
  std::map<fold::Key, std::uint32_t> pattern_of_;
  std::vector<Cell> cells_;
  std::vector<Pattern> patterns_;
  std::size_t most_followed_ = 0;
};

/// Cells of several endpoints only where more of them can follow others than of single ones.
RecordedWork::RecordedWork(const ReplayState& state, const ReusedCalls& reused) {
  Finder single{state, reused, 1};
  single.run();
  const bool may_join = std::any_of(
      state.workload->calls.begin(), state.workload->calls.end(), [](const CollectiveCall& call) {
        return call.members.size() > 1 && call.members.size() <= kMostEndpoints;
      });
  if (may_join) {
    Finder joined{state, reused, kMostEndpoints};
    joined.run();
    if (joined.most_followed() > single.most_followed()) {
      joined.put(*this);
      return;
    }
  }
  single.put(*this);
}

}  // namespace lockstep::engine
