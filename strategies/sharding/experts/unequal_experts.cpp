#include "strategies/sharding/experts/unequal_experts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockstep {

namespace {

/// Of n ranks whose mean load is that of the first over `factor`, the others'.
double load_of_others(int n, double factor) {
  const double ranks = n;
  return std::max(0.0, (ranks - factor) / ((ranks - 1) * factor));
}

class UnequalAllToAll final : public Schedule {
 public:
  UnequalAllToAll(int n, bool rounds, Bytes busiest, const TokenSkew& skew)
      : n_{n},
        rounds_{rounds},
        exchanges_{std::has_single_bit(static_cast<unsigned>(n))},
        returns_{skew.returns},
        busiest_{busiest.count()},
        others_{std::llround(static_cast<double>(busiest.count()) * skew.others)} {}

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] std::int64_t blocks() const override { return n_ * busiest_; }
  [[nodiscard]] Buffer result() const override { return Buffer::output; }
  [[nodiscard]] std::int64_t steps(int, int) const override { return rounds_ ? n_ - 1 : 1; }

  void step(int rank, int, std::int64_t index, ScheduleStep& step) const override {
    if (rounds_) {
      exchange(rank, static_cast<int>(index) + 1, exchanges_, step);
    } else {
      for (int distance = 1; distance < n_; ++distance) exchange(rank, distance, false, step);
    }
    if (index > 0 || bytes(rank, rank) == 0) return;
    step.locals.push_back(
        {{Buffer::data, 0, bytes(rank, rank)}, {Buffer::output, 0, bytes(rank, rank)}});
  }

 private:
  [[nodiscard]] std::int64_t bytes(int from, int to) const {
    return (returns_ ? from : to) == 0 ? busiest_ : others_;
  }

  void exchange(int rank, int apart, bool paired, ScheduleStep& step) const {
    const int to = paired ? rank ^ apart : (rank + apart) % n_;
    const int from = paired ? to : (rank + n_ - apart) % n_;
    if (const auto sent = bytes(rank, to); sent > 0)
      step.sends.push_back({to, {Buffer::data, 0, sent}});
    if (const auto received = bytes(from, rank); received > 0)
      step.receives.push_back({from, {Buffer::output, 0, received}});
  }

  int n_;
  bool rounds_;
  bool exchanges_;
  bool returns_;
  std::int64_t busiest_;
  std::int64_t others_;
};

[[nodiscard]] const Extent* unequal_slots(const Tensor& tensor) {
  const Extent* expert = find_extent(tensor, Dim::expert);
  const bool takes_slots = expert != nullptr && find_extent(tensor, Dim::slot) != nullptr;
  return takes_slots && !expert->shards.empty() ? expert : nullptr;
}

}  // namespace

std::optional<TokenSkew> token_skew(const Program& program, const Operation& operation) {
  const auto& how = operation.communication;
  if (operation.kind != OperationKind::collective || operation.factor == 1 || !how) return {};
  if (how->collective != Collective::all_to_all || how->copies) return {};
  const int n = program.mesh.size(how->over);
  if (n < 2) return {};
  return TokenSkew{load_of_others(n, operation.factor), how->joined == Dim::expert};
}

std::shared_ptr<const Schedule> make_unequal_all_to_all(int n, bool rounds, Bytes busiest,
                                                        const TokenSkew& skew) {
  return std::make_shared<UnequalAllToAll>(n, rounds, busiest, skew);
}

std::optional<UnequalExperts> UnequalExperts::of(const Program& program) {
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      if (operation.kind != OperationKind::matmul || operation.factor == 1) continue;
      for (const Ref& read : operation.reads) {
        const Extent* expert = unequal_slots(program.tensors[read.tensor]);
        if (expert == nullptr) continue;
        const int n = program.mesh.size(expert->shards);
        if (n < 2) continue;
        return UnequalExperts{expert->shards, load_of_others(n, operation.factor)};
      }
    }
  }
  return std::nullopt;
}

bool UnequalExperts::is_unequal(const Tensor& tensor) const {
  const Extent* expert = unequal_slots(tensor);
  return expert != nullptr && expert->shards == over_;
}

bool UnequalExperts::differs(const Program& program, const Operation& operation) const {
  if (class_of(operation.kind) == OperationClass::communication) return false;
  const auto unequal = [&](const Ref& ref) { return is_unequal(program.tensors[ref.tensor]); };
  return std::any_of(operation.reads.begin(), operation.reads.end(), unequal) ||
         std::any_of(operation.writes.begin(), operation.writes.end(), unequal);
}

Program UnequalExperts::of_others(const Program& program) const {
  Program out;
  out.mesh = program.mesh;
  out.tensors = program.tensors;
  out.routines = program.routines;
  out.casts = program.casts;
  out.streams = program.streams;
  for (Tensor& tensor : out.tensors) {
    if (!is_unequal(tensor)) continue;
    for (Extent& extent : tensor.extents) {
      if (extent.dim != Dim::slot) continue;
      const std::int64_t parts = out.mesh.size(extent.shards);
      const double slots = static_cast<double>(extent.size) / static_cast<double>(parts);
      extent.size = parts * static_cast<std::int64_t>(std::ceil(slots * others_ - 1e-6));
    }
  }
  return out;
}

}  // namespace lockstep
