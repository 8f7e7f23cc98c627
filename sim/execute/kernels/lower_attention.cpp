#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/math.hpp"
#include "sim/execute/device_kernels/functions.hpp"
#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

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
  /// Of these numbers of queries and keys, as many as there are.
  [[nodiscard]] std::array<std::int64_t, 2> most(std::int64_t queries, std::int64_t keys) const {
    return {std::clamp<std::int64_t>(q.axes[1].length(), 1, queries),
            std::clamp<std::int64_t>(k.axes[1].length(), 1, keys)};
  }
  const PartLayout& q;
  const PartLayout& k;
  const PartLayout& v;
};

[[nodiscard]] std::int64_t start_of(const Lowering& to) {
  using Start = kernels::AttentionStart;
  if (to.operation().accumulate) return Start::kOutput;
  return to.reads_it(Operand::sinks) ? Start::kSinks : Start::kNothing;
}

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
                  start_of(to),
                  of.q.axes[2].size,
                  of.q.axes[1].size,
                  call.first_sample,
                  sides.queries,
                  sides.keys,
                  window_of(*call.operation),
                  of.q.axes[0].length()};
  launch.numbers = {1 / std::sqrt(static_cast<double>(of.q.axes[3].size)), call.operation->dropout};
  launch.tables = {
      table_of(of.q.axes[1].at), table_of(of.k.axes[1].at), table_of(groups_of(call, of.q, of.k)),
      table_of(of.q.axes[0].at), table_of(of.q.axes[2].at), document_begins(call, of.q)};
  launch.draw = call.draw;
}

/// All operands but keys and values have the same tokens; those two fit each other.
void check_tokens(const Lowering& to) {
  const KernelSettings& call = to.call;
  const Layouts of{to};
  if (of.q.axes[0].at != of.k.axes[0].at || of.q.axes[0].at != of.v.axes[0].at) {
    kernels::refuse(call, "queries, keys and values of different sequences");
  }
  if (of.k.axes[1].at != of.v.axes[1].at) {
    kernels::refuse(call, "keys and values of different tokens");
  }
  if (of.k.axes[2].at != of.v.axes[2].at) {
    kernels::refuse(call, "keys and values of different heads");
  }
  kernels::check_whole(call, to.tensor_in(Operand::q), of.q.axes[3]);
  const auto check_one = [&](const Tensor& tensor, const PartLayout& layout) {
    const bool of_heads_alone = layout.find(Dim::sequence) == nullptr;  // sinks
    if (of_heads_alone || layout.find(Dim::kv_heads) != nullptr) return;
    if (layout.find(Dim::sequence)->at == of.q.axes[1].at) return;
    kernels::refuse(call, fmt::format("{} is of other tokens than {}", tensor.name,
                                      to.tensor_in(Operand::q).name));
  };
  for (std::size_t i = 0; i < to.reads.size(); ++i) check_one(*to.read_tensors[i], *to.reads[i]);
  for (std::size_t i = 0; i < to.writes.size(); ++i) check_one(*to.tensors[i], *to.writes[i]);
}

[[nodiscard]] std::int64_t blocks_of_queries(const Layouts& of, std::int64_t side) {
  return of.q.axes[0].length() * of.q.axes[2].length() * ceil_div(of.q.axes[1].length(), side);
}

void attention(Lowering& to) {
  check_tokens(to);
  if (to.operation().accumulate && !to.reads_it(Operand::o)) {
    kernels::refuse(to.call, "adds to what it does not read");
  }
  const Layouts of{to};
  const Sides sides = sides_of(to, of.most(64, 32), [&](std::int64_t queries, std::int64_t keys) {
    return kernels::attention_scratch(queries, keys, of.width(), of.value_width());
  });
  std::vector<LoweredOperand> reads;
  for (std::size_t i = 0; i < to.reads.size(); ++i) reads.push_back(read_number(i));
  tell(to,
       to.add(F::attention, blocks_of_queries(of, sides.queries), std::move(reads),
              {to.written(Operand::o), to.written(Operand::statistics)}),
       sides);
}

/// Where each of these indices stands among others, which include them.
[[nodiscard]] Table places_of(const Table& indices, const Table& among) {
  Table out;
  for (const std::int64_t index : indices)
    out.push_back(std::find(among.begin(), among.end(), index) - among.begin());
  return out;
}

void sink_gradient(Lowering& to) {
  const PartLayout& q = to.in(Operand::q);
  const PartLayout& sinks = to.to(gradient_of(Operand::sinks));
  KernelLaunch& launch = to.add(F::attention_sink_gradient, q.axes[2].length(),
                                {to.read(Operand::sinks), to.read(Operand::o),
                                 to.read(Operand::statistics), to.read(gradient_of(Operand::o))},
                                {to.written(gradient_of(Operand::sinks))});
  launch.sizes = {q.axes[0].length(), q.axes[1].length(), q.axes[2].length(),
                  to.in(Operand::o).axes[3].length()};
  if (sinks.axes[0].at != q.axes[2].at)
    launch.tables = {table_of(places_of(q.axes[2].at, sinks.axes[0].at))};
}

void attention_backward(Lowering& to) {
  check_tokens(to);
  const Layouts of{to};
  const std::vector<LoweredOperand> reads{
      to.read(Operand::q), to.read(Operand::k),          to.read(Operand::v),
      to.read(Operand::o), to.read(Operand::statistics), to.read(gradient_of(Operand::o))};
  const Sides query = sides_of(to, of.most(64, 32), [&](std::int64_t queries, std::int64_t keys) {
    return kernels::query_gradient_scratch(queries, keys, of.width(), of.value_width());
  });
  tell(to,
       to.add(F::attention_query_gradient, blocks_of_queries(of, query.queries), reads,
              {to.written(gradient_of(Operand::q))}),
       query);
  const Sides key = sides_of(to, of.most(32, 64), [&](std::int64_t queries, std::int64_t keys) {
    return kernels::key_gradient_scratch(queries, keys, of.width(), of.value_width());
  });
  const std::int64_t count =
      of.k.axes[0].length() * of.k.axes[2].length() * ceil_div(of.k.axes[1].length(), key.keys);
  tell(to,
       to.add(F::attention_key_gradient, count, reads,
              {to.written(gradient_of(Operand::k)), to.written(gradient_of(Operand::v))}),
       key);
  if (to.writes_it(gradient_of(Operand::sinks))) sink_gradient(to);
}

}  // namespace

std::span<const KindLowering> attention_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::attention, attention},
      KindLowering{OperationKind::attention_backward, attention_backward},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
