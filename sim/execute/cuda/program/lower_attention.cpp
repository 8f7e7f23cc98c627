#include <fmt/format.h>

#include <cmath>

#include "sim/execute/cuda/program/lowering_parts.hpp"
#include "sim/execute/host/kernels/execution_error.hpp"

namespace lockstep::lowering {

namespace {

/// The local key head of every local head.
[[nodiscard]] Table groups_of(const KernelSettings& call, const PartLayout& q,
                              const PartLayout& k) {
  Table out;
  const TablePtr local = inverse_of(k.axes[2]);
  for (const std::int64_t head : q.axes[2].at) {
    const std::int64_t group = head * k.axes[2].size / q.axes[2].size;
    out.push_back(local == nullptr ? group : (*local)[static_cast<std::size_t>(group)]);
    if (out.back() >= 0) continue;
    throw ExecutionError{fmt::format("{}: head {} needs keys of head {}, which are not there",
                                     call.operation->name, head, group)};
  }
  return out;
}

[[nodiscard]] LoweredKernel one(KernelFunction function, std::int64_t teams, std::int64_t scratch,
                                const KernelSettings& call, const AttentionLayouts& of) {
  LoweredKernel out;
  out.launch = launch_of(function, teams);
  out.launch.scratch = scratch;
  out.launch.sizes = {of.q.axes[1].length(),
                      of.k.axes[1].length(),
                      of.q.axes[2].length(),
                      of.k.axes[2].length(),
                      of.q.axes[3].length(),
                      of.v.axes[3].length(),
                      call.operation->causal ? 1 : 0,
                      call.operation->accumulate ? 1 : 0,
                      of.q.axes[2].size,
                      of.q.axes[1].size,
                      call.first_sample};
  out.launch.numbers = {1 / std::sqrt(static_cast<double>(of.q.axes[3].size)),
                        call.operation->dropout};
  out.launch.tables = {table_of(of.q.axes[1].at), table_of(of.k.axes[1].at),
                       table_of(groups_of(call, of.q, of.k)), table_of(of.q.axes[0].at),
                       table_of(of.q.axes[2].at)};
  out.launch.draw = call.draw;
  return out;
}

}  // namespace

Kernels attention(const KernelSettings& call, const AttentionLayouts& of) {
  const std::int64_t rows = of.q.axes[0].length() * of.q.axes[1].length() * of.q.axes[2].length();
  LoweredKernel out = one(KernelFunction::attention, rows, of.k.axes[1].length(), call, of);
  out.reads = {read(0), read(1), read(2)};
  if (call.operation->accumulate) {
    out.reads.push_back(read(3));
    out.reads.push_back(read(4));
  }
  out.writes = {written(0), written(1)};
  return {out};
}

Kernels attention_backward(const KernelSettings& call, const AttentionLayouts& of,
                           const std::vector<bool>& adds) {
  const std::int64_t queries = of.q.axes[1].length();
  const std::int64_t rows = of.q.axes[0].length() * queries * of.q.axes[2].length();
  const std::int64_t keys = of.k.axes[0].length() * of.k.axes[1].length() * of.k.axes[2].length();
  LoweredKernel query =
      one(KernelFunction::attention_query_gradient, rows, of.k.axes[1].length(), call, of);
  LoweredKernel key = one(KernelFunction::attention_key_gradient, keys, 2 * queries, call, of);
  for (LoweredKernel* each : {&query, &key}) {
    for (std::size_t i = 0; i < 6; ++i) each->reads.push_back(read(i));
  }
  query.writes = {written(0)};
  query.launch.adds = adds[0];
  key.writes = {written(1), written(2)};
  key.launch.adds = adds[1];
  return {query, key};
}

namespace {

/// Numbers of every head's row that are turned, or moved as they are (direction 0).
[[nodiscard]] LoweredKernel turn(const PartLayout& by_head, std::int64_t from_width,
                                 std::int64_t to_width, std::int64_t from, std::int64_t to,
                                 std::int64_t turned, bool one_row, double direction) {
  const std::int64_t heads = by_head.axes[2].length();
  const std::int64_t tokens = by_head.axes[1].length();
  const std::int64_t rows = by_head.axes[0].length() * tokens * heads;
  LoweredKernel out;
  out.launch = launch_of(KernelFunction::rotate, rows * turned);
  out.launch.sizes = {heads, tokens, from_width, to_width, from, to, turned, one_row ? 1 : 0};
  out.launch.numbers = {direction};
  out.launch.tables = {table_of(by_head.axes[1].at)};
  out.reads = {read(0)};
  out.writes = {written(0)};
  return out;
}

}  // namespace

Kernels rotary(const PartLayout& x, const PartLayout* shared, const PartLayout& y) {
  const std::int64_t own = x.axes[3].length();
  const std::int64_t width = y.axes[3].length();
  if (shared == nullptr) return {turn(y, own, width, 0, 0, own, false, 1)};
  Kernels out{turn(y, own, width, 0, 0, own, false, 0),
              turn(y, width - own, width, 0, own, width - own, true, 1)};
  out[1].reads = {read(1)};
  return out;
}

/// The gradient of a shared key is a sum over heads, which the host's kernel does.
Kernels rotary_backward(const PartLayout& g, const PartLayout& g_x, const PartLayout* g_shared,
                        bool adds) {
  if (g_shared != nullptr) return {};
  const std::int64_t own = g_x.axes[3].length();
  Kernels out{turn(g, own, own, 0, 0, own, false, -1)};
  out[0].launch.adds = adds;
  return out;
}

}  // namespace lockstep::lowering
