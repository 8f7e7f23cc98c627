#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

[[nodiscard]] std::size_t width_of(const PartLayout& layout) {
  return static_cast<std::size_t>(layout.axes.back().length());
}

template <class Real>
[[nodiscard]] std::vector<Real> probabilities(const Real* logits, std::size_t count) {
  std::vector<Real> out(logits, logits + count);
  const Real maximum = *std::max_element(out.begin(), out.end());
  Real sum = 0;
  for (Real& value : out) sum += value = std::exp(value - maximum);
  for (Real& value : out) value /= sum;
  return out;
}

template <class Real>
[[nodiscard]] std::size_t index_of(Real number) {
  return static_cast<std::size_t>(std::llround(number));
}

/// Hands out the slots of experts to visits of tokens, in their order. With a dropping rule no more
/// than its capacity to a group of tokens; without, as long as there is room.
class Slots {
 public:
  Slots(const KernelSettings& call, const Tensor& tensor, const PartLayout& slots,
        const Tensor& visits, const PartLayout& experts)
      : call_{call},
        batch_{axis_of(call, visits, experts, Dim::batch)},
        sequence_{axis_of(call, visits, experts, Dim::sequence)},
        room_{slots.axes[1].length()},
        experts_{slots.axes[0].length()} {
    check_whole(call, tensor, slots.axes[0]);
  }

  /// The row of the slots that this visit of a token to an expert gets; none: it is dropped.
  [[nodiscard]] std::optional<std::int64_t> take(std::int64_t token, std::int64_t expert) {
    if (expert < 0 || expert >= experts_) refuse(call_, fmt::format("no expert {}", expert));
    if (is_full(token, expert)) return std::nullopt;
    const std::int64_t slot = taken_[expert]++;
    if (slot < room_) return expert * room_ + slot;
    if (call_.dropping == nullptr) return std::nullopt;
    refuse(call_, fmt::format("expert {} is to take more tokens than its {} slots", expert, room_));
  }

 private:
  /// Whether the group of the token has had its share of the expert; counts the visit.
  [[nodiscard]] bool is_full(std::int64_t token, std::int64_t expert) {
    if (call_.dropping == nullptr) return false;
    const auto sample = static_cast<std::size_t>(token / sequence_.length());
    const auto place = static_cast<std::size_t>(token % sequence_.length());
    const int group = call_.dropping->group_of(batch_.at[sample], sequence_.at[place]);
    return visits_[{group, expert}]++ >= call_.dropping->capacity;
  }

  const KernelSettings& call_;
  const PartAxis& batch_;
  const PartAxis& sequence_;
  std::int64_t room_;
  std::int64_t experts_;
  std::map<std::int64_t, std::int64_t> taken_{};
  std::map<std::pair<int, std::int64_t>, std::int64_t> visits_{};
};

/// Calls each(token, visit, row of the slots) for every visit of a token to an expert that has a
/// slot; `experts` lies as [batch, sequence, choice].
template <class Real, class Each>
void for_each_visit(const KernelSettings& call, const Tensor& tensor,
                    const KernelOperand<Real>& experts, const PartLayout& layout, Each&& each) {
  const std::size_t choices = width_of(*experts.layout);
  Slots slots{call, tensor, layout, *experts.tensor, *experts.layout};
  for (std::size_t visit = 0; visit < experts.size(); ++visit) {
    const std::size_t token = visit / choices;
    const auto slot =
        slots.take(static_cast<std::int64_t>(token), std::llround(experts.data()[visit]));
    if (slot) each(token, visit, static_cast<std::size_t>(*slot));
  }
}

/// y += factor * x.
template <class Real>
void add_row(Real factor, const Real* x, Real* y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

}  // namespace

template <class Real>
void router(KernelCall<Real>& call) {
  const KernelOperand<Real>& logits = call.read(0);
  check_whole(call, *logits.tensor, logits.layout->axes.back());
  const std::size_t n = width_of(*logits.layout);
  const std::size_t choices = width_of(*call.write(0).layout);
  std::vector<std::size_t> order(n);
  for (std::size_t row = 0; row * n < logits.size(); ++row) {
    const Real* from = logits.data() + row * n;
    const std::vector<Real> p = probabilities(from, n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return from[a] > from[b]; });
    for (std::size_t i = 0; i < choices; ++i) {
      call.write(0).values[row * choices + i] = p[order[i]];
      call.write(1).values[row * choices + i] = static_cast<Real>(order[i]);
    }
  }
}

template <class Real>
void router_backward(KernelCall<Real>& call) {
  const std::size_t n = width_of(*call.read(0).layout);
  const std::size_t choices = width_of(*call.read(1).layout);
  for (std::size_t row = 0; row * n < call.read(0).size(); ++row) {
    const std::vector<Real> p = probabilities(call.read(0).data() + row * n, n);
    Real* out = call.write(0).values.data() + row * n;
    Real mean = 0;
    for (std::size_t i = row * choices; i < (row + 1) * choices; ++i) {
      const std::size_t expert = index_of(call.read(2).data()[i]);
      const Real g = call.read(3).data()[i];
      out[expert] += p[expert] * g;
      mean += p[expert] * g;
    }
    for (std::size_t i = 0; i < n; ++i) out[i] -= p[i] * mean;
  }
}

template <class Real>
void dispatch(KernelCall<Real>& call) {
  KernelResult<Real>& slots = call.write(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(1), *slots.layout,
                 [&](std::size_t token, std::size_t, std::size_t slot) {
                   add_row(Real{1}, call.read(0).data() + token * n, slots.values.data() + slot * n,
                           n);
                 });
}

template <class Real>
void dispatch_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.read(0);
  const std::size_t n = width_of(*g.layout);
  for_each_visit(call, *g.tensor, call.read(1), *g.layout,
                 [&](std::size_t token, std::size_t, std::size_t slot) {
                   add_row(Real{1}, g.data() + slot * n, call.write(0).values.data() + token * n,
                           n);
                 });
}

template <class Real>
void combine(KernelCall<Real>& call) {
  const KernelOperand<Real>& slots = call.read(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(2), *slots.layout,
                 [&](std::size_t token, std::size_t visit, std::size_t slot) {
                   add_row(call.read(1).data()[visit], slots.data() + slot * n,
                           call.write(0).values.data() + token * n, n);
                 });
}

template <class Real>
void combine_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& slots = call.read(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(2), *slots.layout,
                 [&](std::size_t token, std::size_t visit, std::size_t slot) {
                   const Real* g = call.read(3).data() + token * n;
                   const Real* x = slots.data() + slot * n;
                   add_row(call.read(1).data()[visit], g, call.write(0).values.data() + slot * n,
                           n);
                   call.write(1).values[visit] += std::inner_product(g, g + n, x, Real{0});
                 });
}

template <class Real>
void dispatch_weights(KernelCall<Real>& call) {
  KernelResult<Real>& slots = call.write(0);
  for_each_visit(call, *slots.tensor, call.read(1), *slots.layout,
                 [&](std::size_t, std::size_t visit, std::size_t slot) {
                   slots.values[slot] = call.read(0).data()[visit];
                 });
}

template <class Real>
void dispatch_weights_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.read(0);
  for_each_visit(call, *g.tensor, call.read(1), *g.layout,
                 [&](std::size_t, std::size_t visit, std::size_t slot) {
                   call.write(0).values[visit] = g.data()[slot];
                 });
}

template <class Real>
void unpermute(KernelCall<Real>& call) {
  const KernelOperand<Real>& slots = call.read(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(1), *slots.layout,
                 [&](std::size_t token, std::size_t, std::size_t slot) {
                   add_row(Real{1}, slots.data() + slot * n,
                           call.write(0).values.data() + token * n, n);
                 });
}

template <class Real>
void unpermute_backward(KernelCall<Real>& call) {
  KernelResult<Real>& slots = call.write(0);
  const std::size_t n = width_of(*slots.layout);
  for_each_visit(call, *slots.tensor, call.read(0), *slots.layout,
                 [&](std::size_t token, std::size_t, std::size_t slot) {
                   add_row(Real{1}, call.read(1).data() + token * n, slots.values.data() + slot * n,
                           n);
                 });
}

template void router(KernelCall<float>&);
template void router(KernelCall<double>&);
template void router_backward(KernelCall<float>&);
template void router_backward(KernelCall<double>&);
template void dispatch(KernelCall<float>&);
template void dispatch(KernelCall<double>&);
template void dispatch_backward(KernelCall<float>&);
template void dispatch_backward(KernelCall<double>&);
template void combine(KernelCall<float>&);
template void combine(KernelCall<double>&);
template void combine_backward(KernelCall<float>&);
template void combine_backward(KernelCall<double>&);
template void dispatch_weights(KernelCall<float>&);
template void dispatch_weights(KernelCall<double>&);
template void dispatch_weights_backward(KernelCall<float>&);
template void dispatch_weights_backward(KernelCall<double>&);
template void unpermute(KernelCall<float>&);
template void unpermute(KernelCall<double>&);
template void unpermute_backward(KernelCall<float>&);
template void unpermute_backward(KernelCall<double>&);

}  // namespace lockstep::kernels
