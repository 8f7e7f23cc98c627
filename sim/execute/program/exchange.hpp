#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// One tensor of one member of a communicator in one collective: what it brings and what it gets.
/// A root that only receives brings nothing, and a member of a broadcast likewise.
template <class Real>
struct ExchangePart {
  const PartLayout* from = nullptr;
  const std::vector<Real>* brought = nullptr;
  const PartLayout* to = nullptr;
  std::vector<Real> got{};  // zeros before
};

/// Whether the k-th member has the k-th part of what is cut or put together, as collectives deal
/// parts out. Errors: ExecutionError where not.
template <class Real>
void check_order(const Communication& how, const std::vector<ExchangePart<Real>>& members);

/// Does one tensor's share of a collective, by its meaning: `members` in the order of the
/// communicator. Errors: ExecutionError where parts do not make up what is asked for.
template <class Real>
void exchange(const Communication& how, int root, std::vector<ExchangePart<Real>>& members);

/// Whether a member gets something from another one.
[[nodiscard]] bool gets_from(const Communication& how, int root, std::size_t members,
                             std::size_t member, std::size_t other);
/// What one member gets where those that it gets something from have come, and maybe no others:
/// their parts alone are looked at. Collectives of which every member gets something from all are
/// left to exchange(). Errors: ExecutionError where parts differ.
template <class Real>
void exchange_early(const Communication& how, int root, std::vector<ExchangePart<Real>>& members,
                    std::size_t member);

}  // namespace lockstep
