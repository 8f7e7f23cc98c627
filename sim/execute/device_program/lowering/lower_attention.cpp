#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/base/math.hpp"
#include "sim/execute/device_kernels/functions.hpp"
#include "sim/execute/device_program/lowering/lowering_parts.hpp"
#include "sim/execute/kernels/kernel_list.hpp"

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
    kernels::refuse(call,
                    fmt::format("head {} needs keys of head {}, which are not there", head, group));
  }
  return out;
}

/// Queries and keys that a team takes at a time, and the numbers that it keeps of them.
struct Sides {
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t scratch;
};

/// What a team may keep so that a multiprocessor has room for two: those of compute capability 8.0
/// have 164 KiB, of 9.0 and 10.0 228 KiB (CUDA C++ Programming Guide, table of technical
/// specifications per compute capability).
constexpr std::int64_t kMostBytes = 80 << 10;
constexpr std::int64_t kSumsBytes = 1 << 9;  // of the team's own, see device/launch.cuh

/// The largest that fit: `numbers(queries, keys)` are kept.
template <class Numbers>
[[nodiscard]] Sides sides_of(const Lowering& to, const std::array<std::int64_t, 2>& largest,
                             const Numbers& numbers) {
  Sides out{largest[0], largest[1], 0};
  while (true) {
    out.scratch = numbers(out.queries, out.keys);
    const bool fits = out.scratch * bytes_of(to.computes) + kSumsBytes <= kMostBytes;
    if (fits || (out.queries == 1 && out.keys == 1)) return out;
    std::int64_t& larger = out.queries >= out.keys ? out.queries : out.keys;
    larger = (larger + 1) / 2;
  }
}

struct Layouts {
  explicit Layouts(const Lowering& to)
      : q{to.in(Operand::q)}, k{to.in(Operand::k)}, v{to.in(Operand::v)} {}
  [[nodiscard]] std::int64_t width() const { return q.axes[3].length(); }
  [[nodiscard]] std::int64_t value_width() const { return v.axes[3].length(); }
  const PartLayout& q;
  const PartLayout& k;
  const PartLayout& v;
};

/// Parameters of all three kernels: see AttentionPlaces.
void tell(const Lowering& to, KernelLaunch& launch, const Sides& sides) {
  const KernelSettings& call = to.call;
  const Layouts of{to};
  launch.scratch = sides.scratch;
  launch.sizes = {of.q.axes[1].length(),
                  of.k.axes[1].length(),
                  of.q.axes[2].length(),
                  of.k.axes[2].length(),
                  of.width(),
                  of.value_width(),
                  call.operation->causal ? 1 : 0,
                  call.operation->accumulate ? 1 : 0,
                  of.q.axes[2].size,
                  of.q.axes[1].size,
                  call.first_sample,
                  sides.queries,
                  sides.keys,
                  window_of(*call.operation),
                  of.q.axes[0].length()};
  launch.numbers = {1 / std::sqrt(static_cast<double>(of.q.axes[3].size)), call.operation->dropout};
  launch.tables = {table_of(of.q.axes[1].at), table_of(of.k.axes[1].at),
                   table_of(groups_of(call, of.q, of.k)), table_of(of.q.axes[0].at),
                   table_of(of.q.axes[2].at)};
  launch.draw = call.draw;
}

void refuse_sinks(const Lowering& to) {
  if (to.reads_it(Operand::sinks)) {
    kernels::refuse(to.call, "attention with sinks is not executed on GPUs; use --backend host");
  }
}

[[nodiscard]] std::int64_t blocks_of_queries(const Layouts& of, std::int64_t side) {
  return of.q.axes[0].length() * of.q.axes[2].length() * ceil_div(of.q.axes[1].length(), side);
}

}  // namespace

void attention(Lowering& to) {
  refuse_sinks(to);
  const Layouts of{to};
  const Sides sides = sides_of(to, {64, 32}, [&](std::int64_t queries, std::int64_t keys) {
    return kernels::attention_scratch(queries, keys, of.width(), of.value_width());
  });
  std::vector<LoweredOperand> reads{to.read(Operand::q), to.read(Operand::k), to.read(Operand::v)};
  if (to.operation().accumulate)
    reads.insert(reads.end(), {to.read(Operand::o), to.read(Operand::statistics)});
  tell(to,
       to.add(F::attention, blocks_of_queries(of, sides.queries), std::move(reads),
              {to.written(Operand::o), to.written(Operand::statistics)}),
       sides);
}

void attention_backward(Lowering& to) {
  refuse_sinks(to);
  const Layouts of{to};
  const std::vector<LoweredOperand> reads{
      to.read(Operand::q), to.read(Operand::k),          to.read(Operand::v),
      to.read(Operand::o), to.read(Operand::statistics), to.read(gradient_of(Operand::o))};
  const Sides query = sides_of(to, {64, 32}, [&](std::int64_t queries, std::int64_t keys) {
    return kernels::query_gradient_scratch(queries, keys, of.width(), of.value_width());
  });
  tell(to,
       to.add(F::attention_query_gradient, blocks_of_queries(of, query.queries), reads,
              {to.written(gradient_of(Operand::q))}),
       query);
  const Sides key = sides_of(to, {32, 64}, [&](std::int64_t queries, std::int64_t keys) {
    return kernels::key_gradient_scratch(queries, keys, of.width(), of.value_width());
  });
  const std::int64_t count =
      of.k.axes[0].length() * of.k.axes[2].length() * ceil_div(of.k.axes[1].length(), key.keys);
  tell(to,
       to.add(F::attention_key_gradient, count, reads,
              {to.written(gradient_of(Operand::k)), to.written(gradient_of(Operand::v))}),
       key);
}

}  // namespace lockstep::lowering
