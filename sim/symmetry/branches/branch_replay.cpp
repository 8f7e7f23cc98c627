#include "sim/symmetry/branches/branch_replay.hpp"

#include <algorithm>
#include <memory>
#include <queue>

#include "sim/base/check.hpp"
#include "sim/engine/event_loop/engine.hpp"
#include "sim/symmetry/branches/branch_engine.hpp"
#include "sim/symmetry/branches/branch_plan.hpp"
#include "sim/symmetry/branches/branch_schedule.hpp"

namespace lockstep::fold {
namespace {

/// An end of a transfer to which a attachment has come, in the branch's own numbers.
struct AttachmentPost {
  std::uint32_t member = 0;  // at the other end
  std::uint32_t channel = 0;
  Post post{};

  /// Posts of one channel and direction keep their order.
  [[nodiscard]] friend bool before(const AttachmentPost& a, const AttachmentPost& b) {
    return a.channel != b.channel ? a.channel < b.channel : a.post.sending < b.post.sending;
  }
  [[nodiscard]] friend bool alike(const AttachmentPost& a, const AttachmentPost& b) {
    return a.channel == b.channel && a.post.sending == b.post.sending &&
           a.post.bytes == b.post.bytes && a.post.times == b.post.times &&
           a.post.reduces == b.post.reduces;
  }
};

bool alike(const std::vector<AttachmentPost>& a, const std::vector<AttachmentPost>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const AttachmentPost& x, const AttachmentPost& y) { return alike(x, y); });
}

class BranchHistory;

/// Where one branch stands.
struct BranchState {
  BranchHistory* history = nullptr;
  std::size_t place = 0;                 // among the branches of its history
  std::vector<AttachmentPost> posted{};  // in this instant
  /// What its attachment waits for: what the history calls it, and the post as the attachment's
  /// engine knows it.
  struct Waiting {
    std::uint32_t name = 0;
    Post post{};
  };
  std::vector<Waiting> waiting{};
};

/// Branches of a kind: what they replay, with a plan where they are plain enough.
struct BranchKind {
  BranchWorkload workload;
  std::optional<BranchPlan> plan;
};

/// What some branches have met so far, and its engine.
class BranchHistory final : public ExternalMember {
  /// Does it with the engine that there is.
  template <typename Use>
  auto with(Use use) const {
    return planned_ ? use(*planned_) : use(*engine_);
  }

 public:
  BranchHistory(const BranchKind& of, NetworkModel model) : of_{of.workload} {
    if (of.plan) {
      planned_ = std::make_unique<BranchEngine>(*of.plan, *this);
    } else {
      engine_ = std::make_unique<Engine>(of_.network, of_.workload, model, *this, of_.attachment);
    }
  }
  BranchHistory(const BranchHistory& other)
      : ExternalMember{other},
        of_{other.of_},
        next_name_{other.next_name_},
        awaited_{other.awaited_} {
    if (other.planned_) {
      planned_ = std::make_unique<BranchEngine>(*other.planned_, *this);
    } else {
      engine_ = std::make_unique<Engine>(*other.engine_, *this);
    }
  }
  BranchHistory& operator=(const BranchHistory&) = delete;
  ~BranchHistory() override = default;

  void begun(std::uint32_t name) override { find(name)->begun = now(); }
  void done(std::uint32_t name) override {
    done_.push_back(name);
    const auto at = find(name);
    *at = awaited_.back();
    awaited_.pop_back();
  }

  [[nodiscard]] bool has_ended(std::uint32_t member) const {
    return with([member](const auto& engine) { return engine.has_ended(member); });
  }
  struct Outcome {
    std::vector<TimePoint> ends;  // per member
    std::uint64_t transfers = 0;
    std::uint64_t solves = 0;
  };
  [[nodiscard]] Outcome outcome() const {
    if (planned_) return {planned_->ends(), planned_->transfers(), planned_->solves()};
    ReplayResult result = engine_->result();
    return {std::move(result.call_ends.front()), result.transfers, result.solves};
  }
  /// What was posted under these names is through; the reader clears them.
  [[nodiscard]] std::vector<std::uint32_t>& done_names() { return done_; }

  /// Until then nothing is done that attachments wait for, unless they post again: every transfer
  /// takes at least its time alone from when its ends meet. Empty if nothing will be.
  [[nodiscard]] std::optional<TimePoint> earliest_done() const {
    if (awaited_.empty()) return std::nullopt;
    const auto next = this->next();
    if (!next) return std::nullopt;
    std::optional<TimePoint> earliest;
    for (const Awaited& each : awaited_) {
      const TimePoint at = each.begun.value_or(*next) + each.least_time;
      if (!earliest || at < *earliest) earliest = at;
    }
    return std::max(*earliest, *next);
  }

  /// Everything before `at`, and the instant itself once.
  void advance_to(TimePoint at) {
    advance_before(at);
    if (next() == at) advance();
  }
  /// Does what was left undone because no attachment could learn of it: all before `at`, and what
  /// of that instant comes before the attachments' posts.
  void catch_up(TimePoint at) {
    advance_before(at);
    if (now() < at && next() == at) advance();
    LOCKSTEP_CHECK(done_.empty());
  }
  void finish() {
    while (advance()) {
    }
    LOCKSTEP_CHECK(done_.empty());
  }

  /// Posts all of it and returns the name of the first; the others' follow.
  std::uint32_t post(TimePoint at, const std::vector<AttachmentPost>& posts) {
    const std::uint32_t first = next_name_;
    for (const AttachmentPost& each : posts) {
      Post post = each.post;
      post.repeats = false;
      post.place = next_name_++;
      awaited_.push_back({post.place, of_.least_time(each.channel, Bytes{post.bytes}), {}});
      with([&](auto& engine) { engine.post_at(at, each.member, each.channel, post); });
    }
    return first;
  }

  std::size_t number = 0;
  std::vector<std::uint32_t> branches;
  std::optional<TimePoint> expected;  // when something may be done, as it is queued, if at all

 private:
  /// A post that is not through.
  struct Awaited {
    std::uint32_t name = 0;
    Duration least_time;
    std::optional<TimePoint> begun;
  };

  [[nodiscard]] TimePoint now() const {
    return with([](const auto& engine) { return engine.now(); });
  }
  [[nodiscard]] std::optional<TimePoint> next() const {
    return with([](const auto& engine) { return engine.next(); });
  }
  bool advance() {
    return with([](auto& engine) { return engine.advance(); });
  }
  void advance_before(TimePoint at) {
    const auto all = [at](auto& engine) {
      for (auto next = engine.next(); next && *next < at; next = engine.next()) engine.advance();
    };
    with(all);
    LOCKSTEP_CHECK(done_.empty());
  }
  [[nodiscard]] std::vector<Awaited>::iterator find(std::uint32_t name) {
    const auto found = std::find_if(awaited_.begin(), awaited_.end(),
                                    [name](const Awaited& each) { return each.name == name; });
    LOCKSTEP_CHECK(found != awaited_.end());
    return found;
  }

  const BranchWorkload& of_;
  // One of the two:
  std::unique_ptr<BranchEngine> planned_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::uint32_t> done_;
  std::uint32_t next_name_ = 0;
  std::vector<Awaited> awaited_;
};

class Replay final : public ExternalTransport {
 public:
  Replay(const Quotient& quotient, const Branches& branches, NetworkModel model)
      : quotient_{quotient}, branches_{branches}, states_(branches.all.size()) {
    for (const std::uint32_t first : branches.first_of_kind) {
      kinds_.push_back({make_branch_workload(quotient, branches.all[first]), {}});
      kinds_.back().plan = make_branch_plan(kinds_.back().workload, model);
    }
    for (const BranchKind& kind : kinds_) add(std::make_unique<BranchHistory>(kind, model));
    for (std::uint32_t i = 0; i < branches.all.size(); ++i)
      put(i, *histories_[branches.all[i].kind]);
    trunk_ = quotient.workload;
    CollectiveCall& call = trunk_.calls.front();
    std::vector<bool> inside(call.members.size(), false);
    for (std::uint32_t m = 0; m < branches.inside.size(); ++m)
      inside[quotient.member_slots[m].rank] = branches.inside[m];
    call.schedule = std::make_shared<AttachmentSchedule>(call.schedule, std::move(inside));
    engine_ = std::make_unique<Engine>(quotient.network, trunk_, model, *this);
    hand_on(TimePoint{});
    trunk_next_ = engine_->next();
    for (const auto& history : histories_) expect(*history);
  }

  std::optional<BranchReplayResult> run(const OnReplay& report) {
    constexpr std::uint64_t kBetweenReports = 1 << 12;
    std::optional<std::uint64_t> transfers;
    std::uint64_t instants = 0;
    while (const auto at = next()) {
      if (report && ++instants % kBetweenReports == 0) {
        if (!transfers) transfers = engine_->transfers_of_calls();
        report(engine_->progress(*transfers));
      }
      advance_histories(*at);
      if (trunk_next_ == at) {
        engine_->advance();
        hand_on(*at);
        trunk_next_ = engine_->next();
      }
    }
    for (const auto& history : histories_) history->finish();
    return result();
  }

  // Of the engine of what is in no branch:
  [[nodiscard]] bool carries(std::uint32_t channel) const override {
    return branches_.pairs[channel / quotient_.channels].branch != Branches::kNone;
  }
  void take(std::uint32_t channel, const Post& post) override {
    const Branches::Place& place = branches_.pairs[channel / quotient_.channels];
    BranchState& state = states_[place.branch];
    if (state.posted.empty()) touched_.push_back(place.branch);
    state.posted.push_back(
        {place.member, place.number * quotient_.channels + channel % quotient_.channels, post});
  }

 private:
  struct Expected {
    TimePoint at;
    BranchHistory* history;
    friend bool operator>(const Expected& a, const Expected& b) { return a.at > b.at; }
  };

  void add(std::unique_ptr<BranchHistory> history) {
    history->number = histories_.size();
    histories_.push_back(std::move(history));
  }
  void put(std::uint32_t id, BranchHistory& history) {
    states_[id].history = &history;
    states_[id].place = history.branches.size();
    history.branches.push_back(id);
  }
  void take_out(std::uint32_t id) {
    std::vector<std::uint32_t>& list = states_[id].history->branches;
    const std::size_t place = states_[id].place;
    list[place] = list.back();
    states_[list[place]].place = place;
    list.pop_back();
  }

  void expect(BranchHistory& history) {
    const auto at = history.earliest_done();
    if (at && at != history.expected) queue_.push({*at, &history});
    history.expected = at;
  }

  /// The next instant at which anything may happen of which others learn. What goes on in a branch
  /// before is done all at once then, or when its attachment posts again.
  [[nodiscard]] std::optional<TimePoint> next() {
    while (!queue_.empty() && queue_.top().history->expected != queue_.top().at) queue_.pop();
    std::optional<TimePoint> at = trunk_next_;
    if (!queue_.empty() && (!at || queue_.top().at < *at)) at = queue_.top().at;
    return at;
  }

  /// All histories of this instant, whose attachments are notified of what is done. Each once: what
  /// then happens at the same instant, as where a transfer takes less than a picosecond, comes
  /// after what the attachments do now.
  void advance_histories(TimePoint at) {
    due_.clear();
    while (!queue_.empty() && queue_.top().at == at) {
      BranchHistory& history = *queue_.top().history;
      queue_.pop();
      if (history.expected != at) continue;
      history.expected.reset();
      due_.push_back(&history);
    }
    for (BranchHistory* history : due_) {
      history->advance_to(at);
      for (const std::uint32_t name : history->done_names())
        for (const std::uint32_t id : history->branches) finish(at, states_[id], name);
      history->done_names().clear();
      expect(*history);
    }
  }

  void finish(TimePoint at, BranchState& state, std::uint32_t name) {
    const auto found = std::find_if(state.waiting.begin(), state.waiting.end(),
                                    [name](const auto& each) { return each.name == name; });
    LOCKSTEP_CHECK(found != state.waiting.end());
    engine_->finish_at(at, found->post);
    trunk_next_ = at;
    *found = state.waiting.back();
    state.waiting.pop_back();
  }

  /// What attachments have posted in this instant goes to the engines of their branches' histories,
  /// which part where it is not the same for all.
  void hand_on(TimePoint at) {
    for (const std::uint32_t id : touched_) {
      auto& posted = states_[id].posted;
      std::stable_sort(
          posted.begin(), posted.end(),
          [](const AttachmentPost& a, const AttachmentPost& b) { return before(a, b); });
    }
    std::stable_sort(touched_.begin(), touched_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return states_[a].history->number < states_[b].history->number;
    });
    for (std::size_t first = 0; first < touched_.size();) {
      BranchHistory* history = states_[touched_[first]].history;
      std::size_t last = first;
      while (last < touched_.size() && states_[touched_[last]].history == history) ++last;
      hand_on(at, *history, std::span{touched_}.subspan(first, last - first));
      first = last;
    }
    touched_.clear();
  }

  void hand_on(TimePoint at, BranchHistory& history, std::span<const std::uint32_t> touched) {
    history.catch_up(at);
    groups_.clear();
    for (const std::uint32_t id : touched) {
      const auto known = std::find_if(groups_.begin(), groups_.end(), [&](const auto& group) {
        return alike(states_[group.front()].posted, states_[id].posted);
      });
      if (known == groups_.end()) {
        groups_.push_back({id});
      } else {
        known->push_back(id);
      }
    }
    // Whom nothing has happened to go on as before; else the first do.
    const bool all = touched.size() == history.branches.size();
    for (std::size_t g = all ? 1 : 0; g < groups_.size(); ++g) {
      add(std::make_unique<BranchHistory>(history));
      for (const std::uint32_t id : groups_[g]) {
        take_out(id);
        put(id, *histories_.back());
      }
      post(at, groups_[g]);
    }
    if (all) post(at, groups_.front());
  }

  void post(TimePoint at, const std::vector<std::uint32_t>& group) {
    BranchHistory& history = *states_[group.front()].history;
    const std::uint32_t first = history.post(at, states_[group.front()].posted);
    for (const std::uint32_t id : group) {
      BranchState& state = states_[id];
      for (std::uint32_t i = 0; i < state.posted.size(); ++i)
        state.waiting.push_back({first + i, state.posted[i].post});
      state.posted.clear();
    }
    expect(history);
  }

  [[nodiscard]] std::optional<BranchReplayResult> result() {
    BranchReplayResult out;
    const auto members = static_cast<std::uint32_t>(quotient_.member_slots.size());
    out.ends.resize(members);
    ReplayResult trunk = engine_->take_result();
    out.transfers = trunk.transfers;
    out.solves = trunk.solves;
    out.histories = histories_.size();
    for (std::uint32_t m = 0; m < members; ++m) {
      const std::uint32_t rank = quotient_.member_slots[m].rank;
      if (!engine_->has_ended(rank)) return std::nullopt;
      out.ends[m] = trunk.call_ends.front()[rank];
    }
    for (const auto& history : histories_) {
      const BranchHistory::Outcome own = history->outcome();
      out.transfers += own.transfers;
      out.solves += own.solves;
      for (const std::uint32_t id : history->branches) {
        const std::vector<std::uint32_t>& inside = branches_.all[id].members;
        for (std::uint32_t i = 0; i < inside.size(); ++i) {
          if (!history->has_ended(i)) return std::nullopt;
          out.ends[inside[i]] = own.ends[i];
        }
      }
    }
    return out;
  }

  const Quotient& quotient_;
  const Branches& branches_;
  std::vector<BranchKind> kinds_;
  std::vector<std::unique_ptr<BranchHistory>> histories_;
  std::vector<BranchState> states_;      // per branch
  Workload trunk_;                       // what is in no branch
  std::unique_ptr<Engine> engine_;       // of that
  std::optional<TimePoint> trunk_next_;  // the engine's next instant
  std::priority_queue<Expected, std::vector<Expected>, std::greater<>> queue_;
  std::vector<BranchHistory*> due_;     // histories of this instant
  std::vector<std::uint32_t> touched_;  // branches for which there are posts
  std::vector<std::vector<std::uint32_t>> groups_;
};

}  // namespace

std::optional<BranchReplayResult> replay_branches(const Quotient& quotient,
                                                  const Branches& branches, NetworkModel model,
                                                  const OnReplay& report) {
  return Replay{quotient, branches, model}.run(report);
}

}  // namespace lockstep::fold
