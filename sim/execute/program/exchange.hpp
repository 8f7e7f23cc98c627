#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// One member's part of one tensor in a collective: contribution and result. A receiving root or a
/// broadcast's receivers contribute nothing.
template <class Real>
struct ExchangePart {
  const PartLayout* from = nullptr;
  const std::vector<Real>* brought = nullptr;
  const PartLayout* to = nullptr;
  std::vector<Real> got{};  // initially zeros
};

/// Whether the k-th member has the k-th part of what is scattered or gathered, as schedules assume.
/// Throws ExecutionError otherwise.
template <class Real>
void check_order(const Communication& how, const std::vector<ExchangePart<Real>>& members);

/// Computes one tensor's result of a collective directly; `members` in the communicator's order.
/// Throws ExecutionError if the parts do not cover the result.
template <class Real>
void exchange(const Communication& how, int root, std::vector<ExchangePart<Real>>& members);

/// Whether a member receives from another one.
[[nodiscard]] bool receives_from(const Communication& how, int root, std::size_t members,
                                 std::size_t member, std::size_t other);
/// The result of one member as soon as its sources have arrived. Collectives in which every member
/// depends on all are left to exchange(). Throws ExecutionError for inconsistent parts.
template <class Real>
void exchange_early(const Communication& how, int root, std::vector<ExchangePart<Real>>& members,
                    std::size_t member);

}  // namespace lockstep
