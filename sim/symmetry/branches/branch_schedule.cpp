#include "sim/symmetry/branches/branch_schedule.hpp"

#include <map>

namespace lockstep::fold {
namespace {

/// The steps of a branch's members, in the branch's own numbers.
class BranchSchedule final : public Schedule, public LateSchedule {
 public:
  BranchSchedule(const Quotient& quotient, const Branch& branch)
      : whole_{quotient.workload.calls.front().schedule.get()},
        channels_{static_cast<int>(quotient.channels)},
        phases_{whole_->phases()} {
    for (const std::uint32_t m : branch.members) add_rank(quotient.member_slots[m].rank);
    add_rank(quotient.member_slots[branch.attachment].rank);
    for (const std::uint32_t p : branch.pairs)
      local_pair_.emplace(static_cast<int>(p), static_cast<int>(local_pair_.size()));
  }

  [[nodiscard]] int ranks() const override { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int lanes() const override { return whole_->lanes(); }
  [[nodiscard]] std::int64_t blocks() const override { return whole_->blocks(); }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return rank + 1 == ranks() ? 0 : whole_->steps(ranks_[static_cast<std::size_t>(rank)], lane);
  }
  [[nodiscard]] std::int64_t first_step(int rank, int lane) const override {
    return rank + 1 == ranks()
               ? 0
               : lockstep::first_step(*whole_, ranks_[static_cast<std::size_t>(rank)], lane);
  }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    whole_->step(ranks_[static_cast<std::size_t>(rank)], lane, index, step);
    for (Send& send : step.sends) rename(send);
    for (Receive& receive : step.receives) rename(receive);
  }
  [[nodiscard]] std::vector<Phase> phases() const override { return phases_; }

 private:
  void add_rank(std::uint32_t rank) {
    local_rank_.emplace(static_cast<int>(rank), static_cast<int>(ranks_.size()));
    ranks_.push_back(static_cast<int>(rank));
  }

  template <typename Message>
  void rename(Message& message) const {
    message.peer = local_rank_.at(message.peer);
    message.channel =
        local_pair_.at(message.channel / channels_) * channels_ + message.channel % channels_;
  }

  const Schedule* whole_;
  int channels_;
  std::vector<Phase> phases_;
  std::vector<int> ranks_;  // of the quotient
  std::unordered_map<int, int> local_rank_;
  std::unordered_map<int, int> local_pair_;
};

}  // namespace

BranchWorkload make_branch_workload(const Quotient& quotient, const Branch& branch) {
  BranchWorkload out;
  out.attachment = static_cast<std::uint32_t>(branch.members.size());
  out.network.may_have_twins = false;
  out.channels = quotient.channels;
  std::map<LinkId, LinkId> links;
  std::vector<Route> routes;
  for (const std::uint32_t p : branch.pairs) {
    out.class_routes.push_back(quotient.class_routes[p]);
    routes.push_back(quotient.class_routes[p].route);
    for (Hop& hop : routes.back().hops) {
      const auto next = static_cast<LinkId>(links.size());
      const auto [link, is_new] = links.try_emplace(hop.link, next);
      if (is_new) out.network.links.push_back(quotient.network.links[hop.link]);
      hop.link = link->second;
    }
  }
  out.network.router = make_channel_router(std::move(routes), quotient.channels);
  const CollectiveCall& whole = quotient.workload.calls.front();
  CollectiveCall call;
  call.name = whole.name;
  call.block = whole.block;
  call.schedule = std::make_shared<BranchSchedule>(quotient, branch);
  const auto add = [&](std::uint32_t member) {
    const std::uint32_t rank = quotient.member_slots[member].rank;
    call.members.push_back(static_cast<EndpointId>(out.network.endpoints.size()));
    out.network.endpoints.push_back(quotient.network.endpoints[whole.members[rank]]);
    if (!whole.starts.empty()) call.starts.push_back(whole.starts[rank]);
  };
  for (const std::uint32_t m : branch.members) add(m);
  add(branch.attachment);
  out.workload.calls.push_back(std::move(call));
  return out;
}

}  // namespace lockstep::fold
