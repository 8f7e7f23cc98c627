#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/schedule/schedule_traits.hpp"
#include "sim/symmetry/branches/branches.hpp"

namespace lockstep::fold {

/// A quotient's schedule without the steps of branch members.
class AttachmentSchedule final : public Schedule, public LateSchedule {
 public:
  /// `inside`: per rank of `whole`.
  AttachmentSchedule(std::shared_ptr<const Schedule> whole, std::vector<bool> inside)
      : whole_{std::move(whole)}, inside_{std::move(inside)}, phases_{whole_->phases()} {}

  [[nodiscard]] int ranks() const override { return whole_->ranks(); }
  [[nodiscard]] int lanes() const override { return whole_->lanes(); }
  [[nodiscard]] std::int64_t blocks() const override { return whole_->blocks(); }
  [[nodiscard]] std::int64_t steps(int rank, int lane) const override {
    return inside_[static_cast<std::size_t>(rank)] ? 0 : whole_->steps(rank, lane);
  }
  [[nodiscard]] std::int64_t first_step(int rank, int lane) const override {
    return inside_[static_cast<std::size_t>(rank)] ? 0 : lockstep::first_step(*whole_, rank, lane);
  }
  void step(int rank, int lane, std::int64_t index, ScheduleStep& step) const override {
    whole_->step(rank, lane, index, step);
  }
  [[nodiscard]] std::vector<Phase> phases() const override { return phases_; }

 private:
  std::shared_ptr<const Schedule> whole_;
  std::vector<bool> inside_;
  std::vector<Phase> phases_;
};

/// Workload and network of one branch: ranks are its members in order, then the attachment, which
/// has no steps. Channel c of the i-th pair is channel i * channels + c.
struct BranchWorkload {
  Network network;
  Workload workload;
  std::uint32_t attachment = 0;            // its rank
  std::vector<ClassRoute> class_routes{};  // per pair, over links of the quotient
  std::uint32_t channels = 1;

  /// Lower bound on the time of a transfer over the channel.
  [[nodiscard]] Duration least_time(std::uint32_t channel, Bytes bytes) const {
    return class_routes[channel / channels].time_alone(bytes);
  }
};

/// `quotient` must outlive it.
[[nodiscard]] BranchWorkload make_branch_workload(const Quotient& quotient, const Branch& branch);

}  // namespace lockstep::fold
