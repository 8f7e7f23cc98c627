#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/execute/host/kernels/part_layout.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// One tensor of one member of a communicator in one collective: what it brings and what it gets.
/// A root that only receives brings nothing, and a member of a broadcast likewise.
struct ExchangePart {
  const PartLayout* from = nullptr;
  const std::vector<double>* brought = nullptr;
  const PartLayout* to = nullptr;
  std::vector<double> got{};  // zeros before
};

/// Whether the k-th member has the k-th part of what is cut or put together, as collectives deal
/// parts out. Errors: ExecutionError where not.
void check_order(const Communication& how, const std::vector<ExchangePart>& members);

/// Does one tensor's share of a collective, by its meaning: `members` in the order of the
/// communicator. Errors: ExecutionError where parts do not make up what is asked for.
void exchange(const Communication& how, int root, std::vector<ExchangePart>& members);

}  // namespace lockstep
