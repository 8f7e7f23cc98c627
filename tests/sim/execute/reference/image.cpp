#include <algorithm>
#include <limits>

#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// Images, or the frames of clips: height, width, channels stand last.
struct Pixels {
  explicit Pixels(const PartLayout& layout)
      : height{layout.axes[layout.axes.size() - 3].length()},
        width{layout.axes[layout.axes.size() - 2].length()},
        channels{layout.axes.back().length()},
        images{layout.unflattened() / (height * width * channels)} {}

  [[nodiscard]] std::int64_t at(std::int64_t image, std::int64_t y, std::int64_t x) const {
    return ((image * height + y) * width + x) * channels;
  }
  [[nodiscard]] bool has(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width;
  }
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
  std::int64_t images;
};

/// Calls each(first channel out, first channel in, place in the window) where a window, padded
/// evenly by (side - 1) / 2, meets a pixel.
template <class Each>
void for_each_tap(const Operation& operation, const Pixels& in, const Pixels& out, Each&& each) {
  const std::int64_t side = operation.window;
  for (std::int64_t image = 0; image < out.images; ++image) {
    for (std::int64_t y = 0; y < out.height; ++y) {
      for (std::int64_t x = 0; x < out.width; ++x) {
        for (std::int64_t tap = 0; tap < side * side; ++tap) {
          const std::int64_t v = y * operation.stride + tap / side - (side - 1) / 2;
          const std::int64_t u = x * operation.stride + tap % side - (side - 1) / 2;
          if (in.has(v, u)) each(out.at(image, y, x), in.at(image, v, u), tap);
        }
      }
    }
  }
}

/// Calls each(pixel out, pixel in, element of the weight) for every GEMM of a convolution.
template <class Each>
void for_each_gemm(const Operation& operation, const Pixels& in, const Pixels& out, Each&& each) {
  for_each_tap(operation, in, out, [&](std::int64_t to, std::int64_t from, std::int64_t tap) {
    for (std::int64_t c = 0; c < in.channels; ++c) {
      for (std::int64_t d = 0; d < out.channels; ++d) {
        each(to + d, from + c, (tap * in.channels + c) * out.channels + d);
      }
    }
  });
}

/// Images of `in` that one of `out` is made of, where that is the mean of everything.
[[nodiscard]] std::int64_t mean_of(const PartLayout& in, const PartLayout& out) {
  return in.unflattened() / out.unflattened();
}

template <class Real>
void shift(const PartLayout& layout, const Real* from, Real* to, int direction) {
  const Pixels pixels{layout};
  const std::int64_t frames = layout.find(Dim::time)->length();
  const std::int64_t part = std::max<std::int64_t>(1, pixels.channels / 8);
  const std::int64_t frame = pixels.height * pixels.width * pixels.channels;
  for (std::int64_t i = 0; i < layout.unflattened(); ++i) {
    const std::int64_t channel = i % pixels.channels;
    const std::int64_t t = i / frame % frames;
    const std::int64_t by = direction * (channel < part ? 1 : channel < 2 * part ? -1 : 0);
    if (t + by >= 0 && t + by < frames) to[i] = from[i + by * frame];
  }
}

}  // namespace

template <class Real>
void convolution(KernelCall<Real>& call) {
  const Real* x = call.read(0).data();
  const Real* weight = call.read(1).data();
  Real* y = call.write(0).values.data();
  for_each_gemm(*call.operation, Pixels{*call.read(0).layout}, Pixels{*call.write(0).layout},
                [&](auto to, auto from, auto place) { y[to] += x[from] * weight[place]; });
}

template <class Real>
void convolution_input_grad(KernelCall<Real>& call) {
  const Real* g = call.read(0).data();
  const Real* weight = call.read(1).data();
  Real* g_x = call.write(0).values.data();
  for_each_gemm(*call.operation, Pixels{*call.write(0).layout}, Pixels{*call.read(0).layout},
                [&](auto to, auto from, auto place) { g_x[from] += g[to] * weight[place]; });
}

template <class Real>
void convolution_weight_grad(KernelCall<Real>& call) {
  const Real* x = call.read(0).data();
  const Real* g = call.read(1).data();
  Real* g_weight = call.write(0).values.data();
  for_each_gemm(*call.operation, Pixels{*call.read(0).layout}, Pixels{*call.read(1).layout},
                [&](auto to, auto from, auto place) { g_weight[place] += x[from] * g[to]; });
}

template <class Real>
void pool(KernelCall<Real>& call) {
  const PartLayout& in = *call.read(0).layout;
  KernelResult<Real>& y = call.write(0);
  const Real* x = call.read(0).data();
  const std::int64_t channels = in.axes.back().length();
  if (call.operation->window == 0) {
    const std::int64_t count = mean_of(in, *y.layout);
    for (std::int64_t i = 0; i < in.unflattened(); ++i) {
      const std::int64_t to = i / channels / count * channels + i % channels;
      y.values[static_cast<std::size_t>(to)] += x[i] / static_cast<Real>(count);
    }
    return;
  }
  std::fill(y.values.begin(), y.values.end(), -std::numeric_limits<Real>::infinity());
  for_each_tap(*call.operation, Pixels{in}, Pixels{*y.layout}, [&](auto to, auto from, auto) {
    for (std::int64_t c = 0; c < channels; ++c) {
      Real& most = y.values[static_cast<std::size_t>(to + c)];
      most = std::max(most, x[from + c]);
    }
  });
}

template <class Real>
void pool_backward(KernelCall<Real>& call) {
  const PartLayout& in = *call.read(0).layout;
  const PartLayout& out = *call.read(1).layout;
  const Real* g = call.read(2).data();
  std::vector<Real>& g_x = call.write(0).values;
  const std::int64_t channels = in.axes.back().length();
  if (call.operation->window == 0) {
    const std::int64_t count = mean_of(in, out);
    for (std::int64_t i = 0; i < in.unflattened(); ++i) {
      g_x[static_cast<std::size_t>(i)] =
          g[i / channels / count * channels + i % channels] / static_cast<Real>(count);
    }
    return;
  }
  // The first of equal pixels gets it all.
  std::vector<bool> given(static_cast<std::size_t>(out.unflattened()), false);
  for_each_tap(*call.operation, Pixels{in}, Pixels{out}, [&](auto to, auto from, auto) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto target = static_cast<std::size_t>(to + c);
      if (given[target] || call.read(0).data()[from + c] != call.read(1).data()[to + c]) continue;
      given[target] = true;
      g_x[static_cast<std::size_t>(from + c)] += g[to + c];
    }
  });
}

/// An eighth of the channels comes from the frame after, an eighth from the one before (Lin et al.,
/// arXiv 1811.08383).
template <class Real>
void temporal_shift(KernelCall<Real>& call) {
  shift(*call.read(0).layout, call.read(0).data(), call.write(0).values.data(), 1);
}

template <class Real>
void temporal_shift_backward(KernelCall<Real>& call) {
  shift(*call.read(0).layout, call.read(0).data(), call.write(0).values.data(), -1);
}

/// Rows of an image [tokens, width] one after the other: the class token, then what is there.
template <class Real>
void class_token(KernelCall<Real>& call) {
  const std::int64_t patches = call.read(0).layout->axes[1].length();
  const std::int64_t width = call.read(0).layout->axes[2].length();
  std::vector<Real>& y = call.write(0).values;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t token = at / width % (patches + 1);
    const std::int64_t image = at / width / (patches + 1);
    y[i] = token == 0 ? call.read(1).data()[at % width]
                      : call.read(0).data()[(image * patches + token - 1) * width + at % width];
  }
}

template <class Real>
void class_token_backward(KernelCall<Real>& call) {
  const std::int64_t tokens = call.read(0).layout->axes[1].length();
  const std::int64_t width = call.read(0).layout->axes[2].length();
  std::vector<Real>& g_x = call.write(0).values;
  std::vector<Real>& g_token = call.write(1).values;
  for (std::int64_t i = 0; i < call.read(0).layout->unflattened(); ++i) {
    const std::int64_t token = i / width % tokens;
    const std::int64_t image = i / width / tokens;
    const Real g = call.read(0).data()[i];
    if (token == 0) {
      g_token[static_cast<std::size_t>(i % width)] += g;
    } else {
      g_x[static_cast<std::size_t>((image * (tokens - 1) + token - 1) * width + i % width)] = g;
    }
  }
}

/// The share of a token in what is pooled.
template <class Real>
[[nodiscard]] Real share_of(const Operation& operation, std::int64_t token, std::int64_t tokens) {
  if (operation.window == 0) return 1 / static_cast<Real>(tokens);
  return token == 0 ? Real{1} : Real{0};
}

template <class Real>
void pool_tokens(KernelCall<Real>& call) {
  const std::int64_t tokens = call.read(0).layout->axes[1].length();
  const std::int64_t width = call.read(0).layout->axes[2].length();
  std::vector<Real>& y = call.write(0).values;
  for (std::int64_t i = 0; i < call.read(0).layout->unflattened(); ++i) {
    const Real share = share_of<Real>(*call.operation, i / width % tokens, tokens);
    y[static_cast<std::size_t>(i / width / tokens * width + i % width)] +=
        share * call.read(0).data()[i];
  }
}

template <class Real>
void pool_tokens_backward(KernelCall<Real>& call) {
  const std::int64_t tokens = call.write(0).layout->axes[1].length();
  const std::int64_t width = call.write(0).layout->axes[2].length();
  std::vector<Real>& g_x = call.write(0).values;
  for (std::size_t k = 0; k < g_x.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    g_x[k] = share_of<Real>(*call.operation, i / width % tokens, tokens) *
             call.read(0).data()[i / width / tokens * width + i % width];
  }
}

template void class_token(KernelCall<float>&);
template void class_token(KernelCall<double>&);
template void class_token_backward(KernelCall<float>&);
template void class_token_backward(KernelCall<double>&);
template void pool_tokens(KernelCall<float>&);
template void pool_tokens(KernelCall<double>&);
template void pool_tokens_backward(KernelCall<float>&);
template void pool_tokens_backward(KernelCall<double>&);
template void convolution(KernelCall<float>&);
template void convolution(KernelCall<double>&);
template void convolution_input_grad(KernelCall<float>&);
template void convolution_input_grad(KernelCall<double>&);
template void convolution_weight_grad(KernelCall<float>&);
template void convolution_weight_grad(KernelCall<double>&);
template void pool(KernelCall<float>&);
template void pool(KernelCall<double>&);
template void pool_backward(KernelCall<float>&);
template void pool_backward(KernelCall<double>&);
template void temporal_shift(KernelCall<float>&);
template void temporal_shift(KernelCall<double>&);
template void temporal_shift_backward(KernelCall<float>&);
template void temporal_shift_backward(KernelCall<double>&);

}  // namespace lockstep::kernels
