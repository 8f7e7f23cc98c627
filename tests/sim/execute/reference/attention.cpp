#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/sim/execute/reference/attention_heads.hpp"

namespace lockstep::kernels {

namespace {

template <class Real>
constexpr Real kNothing = -std::numeric_limits<Real>::infinity();

/// The scores of one query, nothing where it does not see a key.
template <class Real>
[[nodiscard]] std::vector<Real> scores_of(const Heads<Real>& at, const Query& query) {
  std::vector<Real> out(static_cast<std::size_t>(at.keys), kNothing<Real>);
  for (std::int64_t t = 0; t < at.keys; ++t) {
    if (at.sees(query, t)) out[static_cast<std::size_t>(t)] = at.score(query, t);
  }
  return out;
}

/// The context of one query over the keys that are here, and the logarithm of its sum.
template <class Real>
Real attend(const KernelCall<Real>& call, const Heads<Real>& at, const Query& query,
            std::vector<Real>& context) {
  const std::vector<Real> scores = scores_of(at, query);
  std::fill(context.begin(), context.end(), Real{0});
  const Real maximum =
      scores.empty() ? kNothing<Real> : *std::max_element(scores.begin(), scores.end());
  if (maximum == kNothing<Real>) return kNothing<Real>;
  Real sum = 0;
  for (std::int64_t t = 0; t < at.keys; ++t) {
    const Real weight = std::exp(scores[static_cast<std::size_t>(t)] - maximum);
    sum += weight;
    if (weight == 0) continue;
    const Real* v = call.read(2).data() + at.value(query, t);
    const Real kept = weight * at.kept(query, t);
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

/// Adds up the gradients of queries, keys and values, query by query and key by key.
template <class Real>
class Gradients {
 public:
  Gradients(KernelCall<Real>& call, const Heads<Real>& at) : call_{call}, at_{at} {}

  void add(const Query& query) {
    const Real* o = call_.read(3).data() + at_.out(query);
    const Real* g_o = call_.read(5).data() + at_.out(query);
    const Real all = call_.read(4).data()[at_.statistic(query)];
    Real mean = 0;  // sum of probability times its gradient
    for (std::int64_t i = 0; i < at_.value_size; ++i) mean += g_o[i] * o[i];
    for (std::int64_t t = 0; t < at_.keys; ++t) {
      if (!at_.sees(query, t)) continue;
      const Real p = std::exp(at_.score(query, t) - all);
      add_score(query, t, p * (add_value(query, t, p) - mean) * at_.factor);
    }
    if (call_.reads.size() < 7) return;
    // A sink has a share of the softmax and no value.
    const auto head = static_cast<std::size_t>(query.head);
    call_.write(3).values[head] -= std::exp(call_.read(6).data()[head] - all) * mean;
  }

 private:
  /// Adds to the gradient of a value that has been weighed by p; the gradient of p.
  [[nodiscard]] Real add_value(const Query& query, std::int64_t t, Real p) {
    const Real* g_o = call_.read(5).data() + at_.out(query);
    const Real* v = call_.read(2).data() + at_.value(query, t);
    Real* g_v = call_.write(2).values.data() + at_.value(query, t);
    const Real kept = at_.kept(query, t);
    Real g_p = 0;
    for (std::int64_t i = 0; i < at_.value_size; ++i) {
      g_p += g_o[i] * v[i] * kept;
      g_v[i] += p * kept * g_o[i];
    }
    return g_p;
  }

  void add_score(const Query& query, std::int64_t t, Real g_score) {
    const Real* q = call_.read(0).data() + at_.query(query);
    const Real* k = call_.read(1).data() + at_.key(query, t);
    Real* g_q = call_.write(0).values.data() + at_.query(query);
    Real* g_k = call_.write(1).values.data() + at_.key(query, t);
    for (std::int64_t i = 0; i < at_.size; ++i) {
      g_q[i] += g_score * k[i];
      g_k[i] += g_score * q[i];
    }
  }

  KernelCall<Real>& call_;
  const Heads<Real>& at_;
};

}  // namespace

template <class Real>
void attention(KernelCall<Real>& call) {
  const Heads<Real> at{call};
  const bool adds = call.operation->accumulate;
  if (adds && call.reads.size() < 5) refuse(call, "adds to what it does not read");
  const bool sinks = call.reads.size() == 4;
  std::vector<Real> context(static_cast<std::size_t>(at.value_size));
  at.for_each_query([&](const Query& query) {
    const Real own = attend(call, at, query, context);
    const auto row = static_cast<std::size_t>(at.statistic(query));
    const Real before = adds    ? call.read(4).data()[row]
                        : sinks ? call.read(3).data()[static_cast<std::size_t>(query.head)]
                                : kNothing<Real>;
    const Real all = log_sum(before, own);
    call.write(1).values[row] = all;
    auto to = static_cast<std::size_t>(at.out(query));
    for (const Real value : context) {
      const Real held = adds ? call.read(3).data()[to] : 0;
      call.write(0).values[to++] = held * share(before, all) + value * share(own, all);
    }
  });
}

template <class Real>
void attention_backward(KernelCall<Real>& call) {
  const Heads<Real> at{call};
  Gradients<Real> gradients{call, at};
  at.for_each_query([&](const Query& query) { gradients.add(query); });
}

template void attention(KernelCall<float>&);
template void attention(KernelCall<double>&);
template void attention_backward(KernelCall<float>&);
template void attention_backward(KernelCall<double>&);

}  // namespace lockstep::kernels
