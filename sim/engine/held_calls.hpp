#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/engine/replay_state.hpp"
#include "sim/reuse/held_plan.hpp"
#include "sim/reuse/key.hpp"
#include "sim/reuse/learned_ends.hpp"
#include "sim/reuse/message_way.hpp"

namespace lockstep::engine {

class Collectives;
class ReusedCalls;

/// Calls in flight none of whose transfers is replayed. Nothing else is on the links of a member
/// from its begin to its end; these are the links that only it sends or receives over. Nor is on
/// other links of the call, from its first begin to its last end. The ends of members then follow
/// from their begins: by maxima and sums if each transfer is alone on its links (HeldPlan), or else
/// as those of an earlier call of the shape that began so (LearnedEnds). No member ends before all
/// have begun; then all ends are known. If something else comes to a link of a call that is held,
/// the call is replayed from its first begin to the present, at the end of this instant: until then
/// its transfers have met nothing. Times are equal to the last bit (locality).
class HeldCalls {
 public:
  HeldCalls(const ReplayState& state, const ReusedCalls& reused);
  struct Siblings {
    ReplayState& state;
    Collectives& collectives;
    ReusedCalls& reused;
  };
  /// Required before use, and after a copy.
  void join(const Siblings& siblings);

  /// A member begins. False if its transfers are to be replayed.
  [[nodiscard]] bool hold(std::uint32_t call, std::uint32_t member);
  /// A transfer that is replayed starts or ends.
  void count_transfer(const Route& route, bool begins);
  /// Ends the members whose time has come. `generation`: of the event.
  void end_members(std::uint32_t call, std::uint32_t generation);

  /// A member that is to be replayed, from when it began.
  struct Begin {
    TimePoint at;
    std::uint32_t call = 0;
    std::uint32_t member = 0;
  };
  /// Whether something else has come to held calls in this instant.
  [[nodiscard]] bool has_met() const { return !met_.empty(); }
  /// Lets go of these calls. While they are replayed, no transfer counts as met.
  [[nodiscard]] std::vector<Begin> release_met();
  void replayed_past() { in_past_ = false; }
  /// Calls that wait for members for ever are replayed, too. False if there are none.
  [[nodiscard]] bool meet_all();

 private:
  struct Call {
    std::uint32_t generation = 0;
    std::vector<TimePoint> starts{};  // per member, kNotBegun
    std::uint32_t begun = 0;
    std::vector<std::pair<TimePoint, std::uint32_t>> ends{};  // ascending, once all have begun
    std::size_t told = 0;
    bool met = false;
  };
  /// Calls of one schedule with the same members and blocks.
  struct Kind {
    bool looked_at = false;
    std::shared_ptr<const HeldPlan> plan{};       // null: they are replayed
    bool all_alone = false;                       // its transfers, so that the plan says the ends
    std::uint32_t shape = kNone;                  // of learned_
    std::vector<std::vector<LinkId>> links_of{};  // per member
    std::vector<LinkId> shared{};                 // those of several members
  };

  [[nodiscard]] Kind& kind_of(std::uint32_t call);
  [[nodiscard]] Kind look_at(std::uint32_t call);
  [[nodiscard]] std::shared_ptr<const HeldPlan> plan_for(const CollectiveCall& call);
  [[nodiscard]] bool is_called(std::uint32_t call) const;
  [[nodiscard]] const Route& route(const MessageWay& way) const;
  [[nodiscard]] bool is_free(const std::vector<LinkId>& links) const;
  [[nodiscard]] std::optional<std::vector<TimePoint>> ends(std::uint32_t call, const Kind& kind,
                                                           const std::vector<TimePoint>& begins);
  void release(std::uint32_t call, const std::vector<LinkId>& links);
  void meet(std::uint32_t call);
  void push_end(std::uint32_t call, const Call& of);

  ReplayState* state_ = nullptr;
  Collectives* collectives_ = nullptr;
  ReusedCalls* reused_ = nullptr;

  bool possible_;  // in the fluid model, if routes are known
  std::vector<Kind> kinds_;
  std::map<fold::Key, std::shared_ptr<const HeldPlan>> plans_;  // by shape; null: there is none
  /// The first plan of each schedule and block; null: there is none.
  std::map<std::pair<const Schedule*, Bytes>, std::shared_ptr<const HeldPlan>> first_plans_;
  std::size_t room_ = std::size_t{1} << 22U;  // for messages of further plans
  LearnedEnds learned_;
  std::unordered_map<std::uint32_t, Call> calls_;
  struct OnLink {
    std::uint32_t holder = kNone;  // a call
    std::uint32_t busy = 0;        // transfers that are replayed
  };
  std::vector<OnLink> on_links_;
  std::vector<std::uint32_t> met_;
  std::uint32_t generation_ = 0;
  bool in_past_ = false;
};

}  // namespace lockstep::engine
