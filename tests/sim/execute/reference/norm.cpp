#include <algorithm>
#include <cmath>

#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

constexpr double kEpsilon = 1e-5;

[[nodiscard]] std::size_t row_of(const PartLayout& layout) {
  return static_cast<std::size_t>(layout.axes.back().length());
}

/// Numbers that are normalized together: those of the last dimensions, as many as the operation
/// sums over. They are whole.
template <class Real>
[[nodiscard]] std::size_t width_of(const KernelCall<Real>& call) {
  const KernelOperand<Real>& x = call.read(0);
  const std::size_t last = std::max<std::size_t>(1, call.operation->over.size());
  std::size_t out = 1;
  for (std::size_t i = x.layout->axes.size() - last; i < x.layout->axes.size(); ++i) {
    check_whole(call, *x.tensor, x.layout->axes[i]);
    out *= static_cast<std::size_t>(x.layout->axes[i].length());
  }
  return out;
}

/// Mean (0 for RMS) and reciprocal standard deviation of `count` numbers, `stride` apart.
template <class Real>
struct Moments {
  Real mean = 0;
  Real scale = 1;
};
template <class Real>
[[nodiscard]] Moments<Real> moments_of(const Real* x, std::size_t count, std::size_t stride,
                                       bool centred) {
  Moments<Real> out;
  const auto n = static_cast<Real>(count);
  if (centred) {
    for (std::size_t i = 0; i < count; ++i) out.mean += x[i * stride] / n;
  }
  auto variance = static_cast<Real>(kEpsilon);
  for (std::size_t i = 0; i < count; ++i) {
    variance += (x[i * stride] - out.mean) * (x[i * stride] - out.mean) / n;
  }
  out.scale = 1 / std::sqrt(variance);
  return out;
}

/// The gradient of `count` numbers that were normalized, from that of gain times what came out:
/// scale (h - mean(h) - z mean(h z)), without the middle term for RMS.
template <class Real>
void normal_gradient(const Real* x, const Real* h, Real* g_x, std::size_t count, std::size_t stride,
                     const Moments<Real>& moments, bool centred) {
  Real sum = 0;
  Real along = 0;
  const auto normal = [&](std::size_t i) { return (x[i * stride] - moments.mean) * moments.scale; };
  for (std::size_t i = 0; i < count; ++i) {
    sum += h[i];
    along += h[i] * normal(i);
  }
  const auto n = static_cast<Real>(count);
  for (std::size_t i = 0; i < count; ++i) {
    g_x[i * stride] += moments.scale * (h[i] - (centred ? sum / n : 0) - normal(i) * along / n);
  }
}

}  // namespace

template <class Real>
void normalization(KernelCall<Real>& call) {
  const KernelOperand<Real>& x = call.read(0);
  const bool layer = call.operation->norm == Normalization::layer;
  const std::size_t n = width_of(call);
  // n, or as many for every head
  const std::size_t gains = call.reads.size() > 1 ? call.read(1).size() : 0;
  const std::size_t kept = layer ? 2 : 1;
  for (std::size_t row = 0; row * n < x.size(); ++row) {
    const Real* from = x.data() + row * n;
    const Moments<Real> moments = moments_of(from, n, 1, layer);
    Real* statistics = call.write(1).values.data() + row * kept;
    statistics[kept - 1] = moments.scale;
    if (layer) statistics[0] = moments.mean;
    for (std::size_t i = 0; i < n; ++i) {
      const Real bias = call.reads.size() > 2 ? call.read(2).data()[i] : 0;
      const Real gain = gains > 0 ? call.read(1).data()[(row * n + i) % gains] : 1;
      call.write(0).values[row * n + i] = (from[i] - moments.mean) * moments.scale * gain + bias;
    }
  }
}

template <class Real>
void normalization_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& x = call.read(0);
  const bool has_gain = call.writes.size() > 1;
  const KernelOperand<Real>& kept_of = call.read(has_gain ? 2 : 1);
  const KernelOperand<Real>& g = call.read(has_gain ? 3 : 2);
  const bool layer = call.operation->norm == Normalization::layer;
  const std::size_t n = width_of(call);
  const std::size_t kept = layer ? 2 : 1;
  std::vector<Real> h(n);
  for (std::size_t row = 0; row * n < x.size(); ++row) {
    const Real* from = x.data() + row * n;
    const Real* statistics = kept_of.data() + row * kept;
    const Moments<Real> moments{layer ? statistics[0] : 0, statistics[kept - 1]};
    for (std::size_t i = 0; i < n; ++i) {
      const Real gradient = g.data()[row * n + i];
      h[i] = gradient;
      if (!has_gain) continue;
      const std::size_t gain = (row * n + i) % call.read(1).size();
      h[i] *= call.read(1).data()[gain];
      call.write(1).values[gain] += gradient * (from[i] - moments.mean) * moments.scale;
      if (call.writes.size() > 2) call.write(2).values[i] += gradient;
    }
    normal_gradient(from, h.data(), call.write(0).values.data() + row * n, n, 1, moments, layer);
  }
}

template <class Real>
void batch_norm(KernelCall<Real>& call) {
  const KernelOperand<Real>& x = call.read(0);
  const std::size_t channels = row_of(*x.layout);
  const std::size_t count = x.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const Moments<Real> moments = moments_of(x.data() + c, count, channels, true);
    call.write(1).values[2 * c] = moments.mean;
    call.write(1).values[2 * c + 1] = moments.scale;
    for (std::size_t i = c; i < x.size(); i += channels) {
      call.write(0).values[i] =
          (x.data()[i] - moments.mean) * moments.scale * call.read(1).data()[c] +
          call.read(2).data()[c];
    }
  }
}

template <class Real>
void batch_norm_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& x = call.read(0);
  const KernelOperand<Real>& g = call.read(3);
  const std::size_t channels = row_of(*x.layout);
  const std::size_t count = x.size() / channels;
  std::vector<Real> h(count);
  for (std::size_t c = 0; c < channels; ++c) {
    const Moments<Real> moments{call.read(2).data()[2 * c], call.read(2).data()[2 * c + 1]};
    for (std::size_t i = 0; i < count; ++i) {
      const Real gradient = g.data()[i * channels + c];
      h[i] = gradient * call.read(1).data()[c];
      call.write(1).values[c] +=
          gradient * (x.data()[i * channels + c] - moments.mean) * moments.scale;
      call.write(2).values[c] += gradient;
    }
    normal_gradient(x.data() + c, h.data(), call.write(0).values.data() + c, count, channels,
                    moments, true);
  }
}

template void normalization(KernelCall<float>&);
template void normalization(KernelCall<double>&);
template void normalization_backward(KernelCall<float>&);
template void normalization_backward(KernelCall<double>&);
template void batch_norm(KernelCall<float>&);
template void batch_norm(KernelCall<double>&);
template void batch_norm_backward(KernelCall<float>&);
template void batch_norm_backward(KernelCall<double>&);

}  // namespace lockstep::kernels
