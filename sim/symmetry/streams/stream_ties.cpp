#include "sim/symmetry/streams/stream_ties.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

namespace lockstep::fold {

namespace {

constexpr std::size_t kMostTied = 64;  // operations of one instant that are compared
constexpr int kMostSteps = 64;         // back to what released them

/// What becomes ready at an instant for one processor, or for one end of one connection.
struct Rival {
  EndpointId endpoint = 0;
  Activity::Kind kind = Activity::Kind::compute;
  EndpointId peer = 0;
  std::uint32_t number = 0;  // of the processor, or tag
  std::int64_t ready_ps = 0;
  ActivityRef at;

  [[nodiscard]] auto group() const { return std::tuple{endpoint, kind, peer, number, ready_ps}; }
  [[nodiscard]] auto key() const { return std::tuple{group(), at.stream, at.index}; }
};

class Ties {
 public:
  Ties(const Network& network, const Workload& workload, const ReplayResult& result)
      : network_{network},
        workload_{workload},
        result_{result},
        turns_known_{workload.shares_processors()} {}

  bool any() {
    for (std::uint32_t s = 0; s < workload_.streams.size(); ++s)
      for (std::uint32_t i = 0; i < workload_.streams[s].operations.size(); ++i) add({s, i});
    std::sort(rivals_.begin(), rivals_.end(),
              [](const Rival& a, const Rival& b) { return a.key() < b.key(); });
    for (std::size_t first = 0; first < rivals_.size();) {
      std::size_t end = first + 1;
      while (end < rivals_.size() && rivals_[end].group() == rivals_[first].group()) ++end;
      if (decides(first, end)) return true;
      first = end;
    }
    return false;
  }

 private:
  [[nodiscard]] const Activity& operation(ActivityRef at) const {
    return workload_.streams[at.stream].operations[at.index];
  }
  [[nodiscard]] TimePoint end_of(ActivityRef at) const {
    return result_.stream_ends[at.stream][at.index];
  }

  template <typename Visit>
  void each_before(ActivityRef at, Visit visit) const {
    if (at.index > 0) visit(ActivityRef{at.stream, at.index - 1});
    for (const ActivityRef& ref : operation(at).after) visit(ref);
  }

  [[nodiscard]] TimePoint ready(ActivityRef at) const {
    TimePoint out;
    each_before(at, [&](ActivityRef ref) { out = std::max(out, end_of(ref)); });
    return out;
  }

  [[nodiscard]] bool is_root(ActivityRef at) const {
    return at.index == 0 && operation(at).after.empty();
  }

  void add(ActivityRef at) {
    const Activity& of = operation(at);
    if (of.kind == Activity::Kind::collective) return;
    const EndpointId own = workload_.streams[at.stream].endpoint;
    if (of.kind == Activity::Kind::compute) {
      if (of.processor == Activity::kOwnProcessor) return;
      rivals_.push_back({own, of.kind, 0, of.processor, ready(at).ps(), at});
      return;
    }
    // Equal messages that leave at once arrive at once.
    const bool alike = of.kind == Activity::Kind::send && workload_.slots == Workload::kNoLimit &&
                       network_.endpoints[own].message_overhead == Duration{};
    if (!alike) rivals_.push_back({own, of.kind, of.peer, of.tag, ready(at).ps(), at});
  }

  [[nodiscard]] bool decides(std::size_t first, std::size_t end) const {
    if (end - first == 1) return false;
    const auto of = [&](std::size_t i) -> const Activity& { return operation(rivals_[i].at); };
    const auto all = [&](const auto& holds) {
      for (std::size_t i = first; i < end; ++i)
        if (!holds(i)) return false;
      return true;
    };
    if (of(first).kind == Activity::Kind::compute &&
        all([&](std::size_t i) { return of(i).duration == Duration{}; }))
      return false;
    if (all([&](std::size_t i) { return is_root(rivals_[i].at); })) return false;
    if (end - first > kMostTied) return true;
    for (std::size_t i = first; i < end; ++i)
      for (std::size_t j = first; j < i; ++j)
        if (!turn_is_known(rivals_[i].at, rivals_[j].at)) return true;
    return false;
  }

  /// Of two operations that become ready in the same instant.
  [[nodiscard]] bool turn_is_known(ActivityRef a, ActivityRef b) const {
    for (int step = 0; step < kMostSteps; ++step) {
      if (is_root(a) || is_root(b)) return true;
      const std::optional<ActivityRef> by_a = released_by(a);
      const std::optional<ActivityRef> by_b = released_by(b);
      if (!by_a || !by_b) return false;
      if (by_a->stream == by_b->stream && by_a->index == by_b->index) return true;
      const bool computed = operation(*by_a).kind == Activity::Kind::compute &&
                            operation(*by_b).kind == Activity::Kind::compute;
      if (!computed || !turns_known_) return false;
      // Ends of computations are announced when these become ready, and come in that order.
      if (ready(*by_a) != ready(*by_b)) return true;
      a = *by_a;
      b = *by_b;
    }
    return false;
  }

  /// The one operation at whose end it becomes ready; none where several end then.
  [[nodiscard]] std::optional<ActivityRef> released_by(ActivityRef at) const {
    const TimePoint when = ready(at);
    std::optional<ActivityRef> out;
    bool several = false;
    each_before(at, [&](ActivityRef ref) {
      if (end_of(ref) != when) return;
      several = several || out.has_value();
      out = ref;
    });
    return several ? std::nullopt : out;
  }

  const Network& network_;
  const Workload& workload_;
  const ReplayResult& result_;
  bool turns_known_;  // of computations: none are timed in runs
  std::vector<Rival> rivals_;
};

}  // namespace

bool order_may_decide(const Network& network, const Workload& workload,
                      const ReplayResult& result) {
  return Ties{network, workload, result}.any();
}

}  // namespace lockstep::fold
