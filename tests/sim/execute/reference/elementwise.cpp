#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/kernels/random_bits.hpp"
#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// All operands lie alike.
template <class Real>
void check_alike(const KernelCall<Real>& call, const KernelOperand<Real>& read,
                 const KernelResult<Real>& write) {
  if (read.size() == write.values.size()) return;
  refuse(call, fmt::format("{} has {} values and {} {}", read.tensor->name, read.size(),
                           write.tensor->name, write.values.size()));
}

template <class Real>
[[nodiscard]] Real sigmoid(Real x) {
  return 1 / (1 + std::exp(-x));
}

template <class Real>
struct Activated {
  Real value = 0;
  Real slope = 0;
};

/// GELU: Hendrycks and Gimpel, arXiv 1606.08415, the exact form.
template <class Real>
[[nodiscard]] Activated<Real> activated(ActivationFunction function, Real x) {
  switch (function) {
    case ActivationFunction::relu:
      return x > 0 ? Activated<Real>{x, 1} : Activated<Real>{};
    case ActivationFunction::squared_relu:  // So et al., arXiv 2109.08668
      return x > 0 ? Activated<Real>{x * x, 2 * x} : Activated<Real>{};
    case ActivationFunction::geglu:  // of its gate
    case ActivationFunction::gelu: {
      const Real below = (1 + std::erf(x / std::sqrt(Real{2}))) / 2;
      const Real density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Real{-1}));
      return {x * below, below + x * density};
    }
    default: {
      const Real s = sigmoid(x);
      return {x * s, s + x * s * (1 - s)};
    }
  }
}

/// Of the gate's number: Shazeer, arXiv 2002.05202.
template <class Real>
[[nodiscard]] Activated<Real> activated_gate(const KernelCall<Real>& call, std::size_t i) {
  return activated(call.operation->function, call.read(1).data()[i]);
}

/// Angle by which pair `i / 2` of a head is turned at a token.
template <class Real>
[[nodiscard]] Real angle_of(std::int64_t token, std::int64_t i) {
  return static_cast<Real>(token) / std::pow(Real{10}, static_cast<Real>(i / 2));
}

/// Turns `count` numbers pair by pair, back for direction -1; a last one without a partner stays.
template <class Real>
void turn(const Real* from, Real* to, std::int64_t count, std::int64_t token, Real direction) {
  for (std::int64_t i = 0; i + 1 < count; i += 2) {
    const Real angle = direction * angle_of<Real>(token, i);
    to[i] += from[i] * std::cos(angle) - from[i + 1] * std::sin(angle);
    to[i + 1] += from[i + 1] * std::cos(angle) + from[i] * std::sin(angle);
  }
  if (count % 2 == 1) to[count - 1] += from[count - 1];
}

/// Calls each(row of [b, s, heads], row of [b, s], token).
template <class Each>
void for_each_head(const PartLayout& layout, Each&& each) {
  const std::int64_t heads = layout.axes[2].length();
  const std::int64_t tokens = layout.axes[1].length();
  for (std::int64_t row = 0; row < layout.axes[0].length() * tokens; ++row) {
    const std::int64_t token = layout.axes[1].at[static_cast<std::size_t>(row % tokens)];
    for (std::int64_t head = 0; head < heads; ++head) each(row * heads + head, row, token);
  }
}

/// Of a tensor whose first dimension is the batch.
[[nodiscard]] std::int64_t elements_of_sample(const PartLayout& layout) {
  std::int64_t out = 1;
  for (const PartAxis& axis : layout.axes) {
    if (axis.dim != Dim::batch) out *= axis.size;
  }
  return out;
}

}  // namespace

template <class Real>
void activation(KernelCall<Real>& call) {
  check_alike(call, call.read(0), call.write(0));
  const bool gated = is_gated(call.operation->function);
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    const Real x = call.read(0).data()[i];
    call.write(0).values[i] =
        gated ? x * activated_gate(call, i).value : activated(call.operation->function, x).value;
  }
}

template <class Real>
void activation_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.reads.back();
  check_alike(call, g, call.write(0));
  const bool gated = is_gated(call.operation->function);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Real x = call.read(0).data()[i];
    if (gated) {
      const Activated<Real> gate = activated_gate(call, i);
      call.write(0).values[i] = g.data()[i] * gate.value;
      call.write(1).values[i] = g.data()[i] * x * gate.slope;
    } else {
      call.write(0).values[i] = g.data()[i] * activated(call.operation->function, x).slope;
    }
  }
}

namespace {

/// Of x, a weight per row and perhaps a gate.
template <class Real>
[[nodiscard]] Activated<Real> activated_row(const KernelCall<Real>& call, std::size_t i) {
  const Real x = call.read(0).data()[i];
  if (!is_gated(call.operation->function)) return activated(call.operation->function, x);
  const auto function = call.operation->function == ActivationFunction::swiglu
                            ? ActivationFunction::silu
                            : ActivationFunction::gelu;
  const Activated<Real> gate = activated(function, call.read(2).data()[i]);
  return {x * gate.value, gate.value};
}

template <class Real>
[[nodiscard]] std::size_t row_of_weights(const KernelCall<Real>& call, std::size_t i) {
  return i / static_cast<std::size_t>(call.read(0).layout->axes.back().length());
}

}  // namespace

template <class Real>
void weighted_activation(KernelCall<Real>& call) {
  for (std::size_t i = 0; i < call.read(0).size(); ++i)
    call.write(0).values[i] =
        call.read(1).data()[row_of_weights(call, i)] * activated_row(call, i).value;
}

template <class Real>
void weighted_activation_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.reads.back();
  const bool gated = is_gated(call.operation->function);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const std::size_t row = row_of_weights(call, i);
    const Activated<Real> own = activated_row(call, i);
    const Real weighted = g.data()[i] * call.read(1).data()[row];
    call.write(0).values[i] = weighted * own.slope;
    call.write(1).values[row] += g.data()[i] * own.value;
    if (!gated) continue;
    const auto function = call.operation->function == ActivationFunction::swiglu
                              ? ActivationFunction::silu
                              : ActivationFunction::gelu;
    call.write(2).values[i] =
        weighted * call.read(0).data()[i] * activated(function, call.read(2).data()[i]).slope;
  }
}

template <class Real>
void rotary(KernelCall<Real>& call) {
  const KernelOperand<Real>& x = call.read(0);
  KernelResult<Real>& y = call.write(0);
  const std::int64_t width = y.layout->axes[3].length();
  const std::int64_t own = x.layout->axes[3].length();
  const bool shared = call.reads.size() > 1;
  const std::int64_t other = shared ? call.read(1).layout->axes[2].length() : 0;
  if (width != own + other) refuse(call, "the parts of heads are not as long as heads");
  for_each_head(*y.layout, [&](std::int64_t row, std::int64_t at, std::int64_t token) {
    Real* to = y.values.data() + row * width;
    if (shared) {
      std::copy_n(x.data() + row * own, own, to);
      turn(call.read(1).data() + at * (width - own), to + own, width - own, token, Real{1});
    } else {
      turn(x.data() + row * own, to, own, token, Real{1});
    }
  });
}

template <class Real>
void rotary_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.read(0);
  const std::int64_t width = g.layout->axes[3].length();
  const std::int64_t own = call.write(0).layout->axes[3].length();
  const bool shared = call.writes.size() > 1;
  const std::int64_t other = shared ? call.write(1).layout->axes[2].length() : 0;
  if (width != own + other) refuse(call, "the parts of heads are not as long as heads");
  for_each_head(*g.layout, [&](std::int64_t row, std::int64_t at, std::int64_t token) {
    const Real* from = g.data() + row * width;
    if (shared) {
      std::copy_n(from, own, call.write(0).values.data() + row * own);
      turn(from + own, call.write(1).values.data() + at * (width - own), width - own, token,
           Real{-1});
    } else {
      turn(from, call.write(0).values.data() + row * own, own, token, Real{-1});
    }
  });
}

template <class Real>
void dropout(KernelCall<Real>& call) {
  check_alike(call, call.read(0), call.write(0));
  const std::vector<std::int64_t> places = call.read(0).layout->global_indices();
  const double probability = call.operation->dropout;
  const auto share = static_cast<Real>(1 - probability);
  const std::int64_t first = call.first_sample * elements_of_sample(*call.read(0).layout);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::uint64_t>(first + places[i]);
    const bool kept = unit_interval(mixed(call.draw, place)) >= probability;
    call.write(1).values[i] = kept ? 1 : 0;
    call.write(0).values[i] = kept ? call.read(0).data()[i] / share : 0;
  }
}

template <class Real>
void dropout_backward(KernelCall<Real>& call) {
  check_alike(call, call.read(0), call.write(0));
  const auto share = static_cast<Real>(1 - call.operation->dropout);
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    call.write(0).values[i] = call.read(0).data()[i] * call.read(1).data()[i] / share;
  }
}

template <class Real>
void add(KernelCall<Real>& call) {
  check_alike(call, call.read(0), call.write(0));
  check_alike(call, call.read(1), call.write(0));
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    call.write(0).values[i] = call.read(0).data()[i] + call.read(1).data()[i];
  }
}

template <class Real>
void scale(KernelCall<Real>& call) {
  copy(call);
  const auto factor = static_cast<Real>(call.operation->factor);
  for (KernelResult<Real>& result : call.writes)
    for (Real& value : result.values) value *= factor;
}

template <class Real>
void copy(KernelCall<Real>& call) {
  for (std::size_t i = 0; i < call.writes.size(); ++i) {
    const KernelOperand<Real>& from = call.read(i);
    KernelResult<Real>& to = call.write(i);
    const std::int64_t copied =
        copy_common(*from.layout, *from.values, *to.layout, to.values, false);
    if (copied == to.layout->filled()) continue;
    refuse(call, fmt::format("{} has {} of the {} values that {} takes", from.tensor->name, copied,
                             to.layout->filled(), to.tensor->name));
  }
}

/// x [b, s, h] by scale and shift [b, h]: x (1 + scale) + shift, or x scale without a shift.
template <class Real>
void modulate(KernelCall<Real>& call) {
  const std::int64_t tokens = call.read(0).layout->axes[1].length();
  const std::int64_t width = call.read(0).layout->axes[2].length();
  const bool shifted = call.reads.size() == 3;
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto of = static_cast<std::size_t>(at / width / tokens * width + at % width);
    const Real x = call.read(0).data()[i];
    const Real scaled = x * call.read(1).data()[of];
    call.write(0).values[i] = shifted ? x + scaled + call.read(2).data()[of] : scaled;
  }
}

/// [x, scale, g_y] -> [g_x, g_scale, (g_shift)]
template <class Real>
void modulate_backward(KernelCall<Real>& call) {
  const std::int64_t tokens = call.read(0).layout->axes[1].length();
  const std::int64_t width = call.read(0).layout->axes[2].length();
  const bool shifted = call.writes.size() == 3;
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto of = static_cast<std::size_t>(at / width / tokens * width + at % width);
    const Real g = call.read(2).data()[i];
    call.write(0).values[i] = g * call.read(1).data()[of] + (shifted ? g : Real{0});
    call.write(1).values[of] += g * call.read(0).data()[i];
    if (shifted) call.write(2).values[of] += g;
  }
}

template void modulate(KernelCall<float>&);
template void modulate(KernelCall<double>&);
template void modulate_backward(KernelCall<float>&);
template void modulate_backward(KernelCall<double>&);
template void activation(KernelCall<float>&);
template void activation(KernelCall<double>&);
template void activation_backward(KernelCall<float>&);
template void activation_backward(KernelCall<double>&);
template void weighted_activation(KernelCall<float>&);
template void weighted_activation(KernelCall<double>&);
template void weighted_activation_backward(KernelCall<float>&);
template void weighted_activation_backward(KernelCall<double>&);
template void rotary(KernelCall<float>&);
template void rotary(KernelCall<double>&);
template void rotary_backward(KernelCall<float>&);
template void rotary_backward(KernelCall<double>&);
template void dropout(KernelCall<float>&);
template void dropout(KernelCall<double>&);
template void dropout_backward(KernelCall<float>&);
template void dropout_backward(KernelCall<double>&);
template void add(KernelCall<float>&);
template void add(KernelCall<double>&);
template void scale(KernelCall<float>&);
template void scale(KernelCall<double>&);
template void copy(KernelCall<float>&);
template void copy(KernelCall<double>&);

}  // namespace lockstep::kernels
