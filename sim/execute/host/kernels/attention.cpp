#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "sim/execute/host/kernels/kernel_list.hpp"
#include "sim/execute/host/kernels/random_bits.hpp"

namespace lockstep::kernels {

namespace {

template <class Real>
constexpr Real kNothing = -std::numeric_limits<Real>::infinity();

/// Where the numbers of queries, keys and values stand, and who sees whom.
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

  [[nodiscard]] std::int64_t query(std::int64_t b, std::int64_t s, std::int64_t head) const {
    return ((b * queries + s) * heads + head) * size;
  }
  [[nodiscard]] std::int64_t out(std::int64_t b, std::int64_t s, std::int64_t head) const {
    return ((b * queries + s) * heads + head) * value_size;
  }
  [[nodiscard]] std::int64_t key(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return ((b * keys + t) * k_.axes[2].length() + group_[static_cast<std::size_t>(head)]) * size;
  }
  [[nodiscard]] std::int64_t value(std::int64_t b, std::int64_t t, std::int64_t head) const {
    return ((b * keys + t) * k_.axes[2].length() + group_[static_cast<std::size_t>(head)]) *
           value_size;
  }
  [[nodiscard]] std::int64_t statistic(std::int64_t b, std::int64_t head, std::int64_t s) const {
    return (b * heads + head) * queries + s;
  }
  [[nodiscard]] bool sees(std::int64_t s, std::int64_t t) const {
    return !call_.operation->causal ||
           k_.axes[1].at[static_cast<std::size_t>(t)] <= q_.axes[1].at[static_cast<std::size_t>(s)];
  }
  /// What a probability is multiplied with: 0 where it is dropped.
  [[nodiscard]] Real kept(std::int64_t b, std::int64_t head, std::int64_t s, std::int64_t t) const {
    const double probability = call_.operation->dropout;
    if (probability == 0) return 1;
    const auto global = [](const PartAxis& axis, std::int64_t i) {
      return static_cast<std::uint64_t>(axis.at[static_cast<std::size_t>(i)]);
    };
    std::uint64_t place = global(q_.axes[0], b);
    place = place * static_cast<std::uint64_t>(q_.axes[2].size) + global(q_.axes[2], head);
    place = place * static_cast<std::uint64_t>(q_.axes[1].size) + global(q_.axes[1], s);
    place = place * static_cast<std::uint64_t>(q_.axes[1].size) + global(k_.axes[1], t);
    return unit_interval(mixed(call_.draw, place)) < probability
               ? 0
               : static_cast<Real>(1 / (1 - probability));
  }
  [[nodiscard]] Real score(std::int64_t q, std::int64_t k) const {
    Real sum = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      sum += call_.read(0).data()[q + i] * call_.read(1).data()[k + i];
    }
    return sum * factor;
  }

 private:
  /// All but keys and values are those of the same tokens.
  void check_queries(const KernelCall<Real>& call) const {
    const auto check_one = [&](const Tensor& tensor, const PartLayout& layout) {
      if (layout.find(Dim::kv_heads) != nullptr) return;
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

/// The context of one query and head over the keys that are here, and the logarithm of its sum.
template <class Real>
Real attend(const KernelCall<Real>& call, const Heads<Real>& at, std::int64_t b, std::int64_t s,
            std::int64_t head, std::vector<Real>& context) {
  std::vector<Real> scores(static_cast<std::size_t>(at.keys), kNothing<Real>);
  Real maximum = kNothing<Real>;
  for (std::int64_t t = 0; t < at.keys; ++t) {
    if (!at.sees(s, t)) continue;
    Real& score = scores[static_cast<std::size_t>(t)];
    score = at.score(at.query(b, s, head), at.key(b, t, head));
    maximum = std::max(maximum, score);
  }
  std::fill(context.begin(), context.end(), Real{0});
  if (maximum == kNothing<Real>) return kNothing<Real>;
  Real sum = 0;
  for (std::int64_t t = 0; t < at.keys; ++t) {
    const Real weight = std::exp(scores[static_cast<std::size_t>(t)] - maximum);
    sum += weight;
    if (weight == 0) continue;
    const Real* v = call.read(2).data() + at.value(b, t, head);
    const Real kept = weight * at.kept(b, head, s, t);
    for (std::size_t i = 0; i < context.size(); ++i) context[i] += kept * v[i];
  }
  for (Real& value : context) value /= sum;
  return maximum + std::log(sum);
}

/// log(exp(a) + exp(b)).
template <class Real>
[[nodiscard]] Real log_sum(Real a, Real b) {
  const Real most = std::max(a, b);
  if (most == kNothing<Real>) return kNothing<Real>;
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

template <class Real>
[[nodiscard]] Real share(Real part, Real whole) {
  return part == kNothing<Real> ? 0 : std::exp(part - whole);
}

}  // namespace

template <class Real>
void attention(KernelCall<Real>& call) {
  const Heads<Real> at{call};
  const bool adds = call.operation->accumulate;
  if (adds && call.reads.size() < 5) refuse(call, "adds to what it does not read");
  std::vector<Real> context(static_cast<std::size_t>(at.value_size));
  for (std::int64_t b = 0; b < at.batches; ++b) {
    for (std::int64_t s = 0; s < at.queries; ++s) {
      for (std::int64_t head = 0; head < at.heads; ++head) {
        const Real own = attend(call, at, b, s, head, context);
        const auto row = static_cast<std::size_t>(at.statistic(b, head, s));
        const Real before = adds ? call.read(4).data()[row] : kNothing<Real>;
        const Real all = log_sum(before, own);
        call.write(1).values[row] = all;
        for (std::int64_t i = 0; i < at.value_size; ++i) {
          const auto to = static_cast<std::size_t>(at.out(b, s, head) + i);
          const Real held = adds ? call.read(3).data()[to] : 0;
          call.write(0).values[to] =
              held * share(before, all) + context[static_cast<std::size_t>(i)] * share(own, all);
        }
      }
    }
  }
}

template <class Real>
void attention_backward(KernelCall<Real>& call) {
  const Heads<Real> at{call};
  const Real* q = call.read(0).data();
  const Real* k = call.read(1).data();
  const Real* v = call.read(2).data();
  const Real* o = call.read(3).data();
  const Real* g_o = call.read(5).data();
  Real* g_q = call.write(0).values.data();
  Real* g_k = call.write(1).values.data();
  Real* g_v = call.write(2).values.data();
  for (std::int64_t b = 0; b < at.batches; ++b) {
    for (std::int64_t s = 0; s < at.queries; ++s) {
      for (std::int64_t head = 0; head < at.heads; ++head) {
        const std::int64_t row = at.query(b, s, head);
        const std::int64_t out = at.out(b, s, head);
        const Real all = call.read(4).data()[at.statistic(b, head, s)];
        Real mean = 0;  // sum of probability times its gradient
        for (std::int64_t i = 0; i < at.value_size; ++i) mean += g_o[out + i] * o[out + i];
        for (std::int64_t t = 0; t < at.keys; ++t) {
          if (!at.sees(s, t)) continue;
          const std::int64_t key = at.key(b, t, head);
          const std::int64_t value = at.value(b, t, head);
          const Real p = std::exp(at.score(row, key) - all);
          const Real kept = at.kept(b, head, s, t);
          Real g_p = 0;
          for (std::int64_t i = 0; i < at.value_size; ++i) {
            g_p += g_o[out + i] * v[value + i] * kept;
            g_v[value + i] += p * kept * g_o[out + i];
          }
          const Real g_score = p * (g_p - mean) * at.factor;
          for (std::int64_t i = 0; i < at.size; ++i) {
            g_q[row + i] += g_score * k[key + i];
            g_k[key + i] += g_score * q[row + i];
          }
        }
      }
    }
  }
}

template void attention(KernelCall<float>&);
template void attention(KernelCall<double>&);
template void attention_backward(KernelCall<float>&);
template void attention_backward(KernelCall<double>&);

}  // namespace lockstep::kernels
