#pragma once

#include <fmt/format.h>

#include <cmath>

#include "sim/execute/kernels/random_bits.hpp"
#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

/// A query of one head and sequence, by local indices.
struct Query {
  std::int64_t b = 0;
  std::int64_t s = 0;
  std::int64_t head = 0;
};

/// Locations of queries, keys and values, and their visibility.
template <class Real>
class Heads {
 public:
  explicit Heads(const KernelCall<Real>& call)
      : call_{call},
        q_{*call.read(0).layout},
        k_{*call.read(1).layout},
        v_{*call.read(2).layout},
        batches{q_.axes[0].length()},
        queries{q_.axes[1].length()},
        keys{k_.axes[1].length()},
        heads{q_.axes[2].length()},
        size{q_.axes[3].length()},
        value_size{v_.axes[3].length()},
        factor{1 / std::sqrt(static_cast<Real>(q_.axes[3].size))} {
    if (q_.axes[0].at != k_.axes[0].at || q_.axes[0].at != v_.axes[0].at) {
      refuse(call, "queries, keys and values of different sequences");
    }
    if (k_.axes[1].at != v_.axes[1].at) refuse(call, "keys and values of different tokens");
    check_queries(call);
    if (k_.axes[2].at != v_.axes[2].at) refuse(call, "keys and values of different heads");
    check_whole(call, *call.read(0).tensor, q_.axes[3]);
    for (const std::int64_t head : q_.axes[2].at) group_.push_back(local_group(head));
  }

  [[nodiscard]] std::int64_t query(const Query& of) const { return row(of) * size; }
  [[nodiscard]] std::int64_t out(const Query& of) const { return row(of) * value_size; }
  [[nodiscard]] std::int64_t key(const Query& of, std::int64_t t) const {
    return key_row(of, t) * size;
  }
  [[nodiscard]] std::int64_t value(const Query& of, std::int64_t t) const {
    return key_row(of, t) * value_size;
  }
  [[nodiscard]] std::int64_t statistic(const Query& of) const {
    return (of.b * heads + of.head) * queries + of.s;
  }
  [[nodiscard]] bool sees(const Query& of, std::int64_t t) const {
    return !call_.operation->causal ||
           call_.operation->visible.sees(q_.axes[1].at[static_cast<std::size_t>(of.s)],
                                         k_.axes[1].at[static_cast<std::size_t>(t)]);
  }
  /// Factor on a probability: 0 if dropped.
  [[nodiscard]] Real kept(const Query& of, std::int64_t t) const {
    const double probability = call_.operation->dropout;
    if (probability == 0) return 1;
    const auto global = [](const PartAxis& axis, std::int64_t i) {
      return static_cast<std::uint64_t>(axis.at[static_cast<std::size_t>(i)]);
    };
    std::uint64_t place = static_cast<std::uint64_t>(call_.first_sample) + global(q_.axes[0], of.b);
    place = place * static_cast<std::uint64_t>(q_.axes[2].size) + global(q_.axes[2], of.head);
    place = place * static_cast<std::uint64_t>(q_.axes[1].size) + global(q_.axes[1], of.s);
    place = place * static_cast<std::uint64_t>(q_.axes[1].size) + global(k_.axes[1], t);
    return unit_interval(mixed(call_.draw, place)) < probability
               ? 0
               : static_cast<Real>(1 / (1 - probability));
  }
  [[nodiscard]] Real score(const Query& of, std::int64_t t) const {
    const Real* q = call_.read(0).data() + query(of);
    const Real* k = call_.read(1).data() + key(of, t);
    Real sum = 0;
    for (std::int64_t i = 0; i < size; ++i) sum += q[i] * k[i];
    return sum * factor;
  }
  template <class Each>
  void for_each_query(Each&& each) const {
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t s = 0; s < queries; ++s) {
        for (std::int64_t head = 0; head < heads; ++head) each(Query{b, s, head});
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t row(const Query& of) const {
    return (of.b * queries + of.s) * heads + of.head;
  }
  [[nodiscard]] std::int64_t key_row(const Query& of, std::int64_t t) const {
    return (of.b * keys + t) * k_.axes[2].length() + group_[static_cast<std::size_t>(of.head)];
  }
  /// Checks that all operands but keys and values have the same tokens.
  void check_queries(const KernelCall<Real>& call) const {
    const auto check_one = [&](const Tensor& tensor, const PartLayout& layout) {
      const bool of_heads_alone = layout.find(Dim::sequence) == nullptr;  // sinks
      if (of_heads_alone || layout.find(Dim::kv_heads) != nullptr) return;
      if (axis_of(call, tensor, layout, Dim::sequence).at == q_.axes[1].at) return;
      refuse(call,
             fmt::format("{} is of other tokens than {}", tensor.name, call.read(0).tensor->name));
    };
    for (const KernelOperand<Real>& read : call.reads) check_one(*read.tensor, *read.layout);
    for (const KernelResult<Real>& write : call.writes) check_one(*write.tensor, *write.layout);
  }

  [[nodiscard]] std::int64_t local_group(std::int64_t head) const {
    const std::int64_t group = head * k_.axes[2].size / q_.axes[2].size;
    for (std::int64_t i = 0; i < k_.axes[2].length(); ++i) {
      if (k_.axes[2].at[static_cast<std::size_t>(i)] == group) return i;
    }
    refuse(call_, fmt::format("head {} needs keys of head {}, which are not there", head, group));
  }

  const KernelCall<Real>& call_;
  const PartLayout& q_;
  const PartLayout& k_;
  const PartLayout& v_;
  std::vector<std::int64_t> group_{};

 public:
  std::int64_t batches;
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t heads;
  std::int64_t size;
  std::int64_t value_size;
  Real factor;
};

}  // namespace lockstep::kernels
