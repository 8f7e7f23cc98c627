#pragma once

#include <cstdint>

#include "sim/execute/device_kernels/arguments.hpp"

/// Convolution, pooling and temporal shift; see functions.hpp.
namespace lockstep::kernels {

struct Pixel {
  std::int64_t image;
  std::int64_t y;
  std::int64_t x;
};

/// Sliding windows over images, padded symmetrically by (side - 1) / 2. Sizes: side, stride, height
/// and width of the images, height and width of the output, channels, first image.
template <class Args>
struct Windows {
  const Args& a;

  [[nodiscard]] LOCKSTEP_BOTH std::int64_t taps() const { return a.size[0] * a.size[0]; }
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t channels() const { return a.size[6]; }
  [[nodiscard]] LOCKSTEP_BOTH Pixel pixel(std::int64_t i) const {
    return {i / a.size[3] / a.size[2], i / a.size[3] % a.size[2], i % a.size[3]};
  }
  [[nodiscard]] LOCKSTEP_BOTH Pixel place(std::int64_t i) const {
    return {i / a.size[5] / a.size[4], i / a.size[5] % a.size[4], i % a.size[5]};
  }
  /// Input pixel under a tap of an output position's window; negative: padding.
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t under(const Pixel& place, std::int64_t tap) const {
    const std::int64_t y = place.y * a.size[1] + tap / a.size[0] - (a.size[0] - 1) / 2;
    const std::int64_t x = place.x * a.size[1] + tap % a.size[0] - (a.size[0] - 1) / 2;
    const bool inside = y >= 0 && y < a.size[2] && x >= 0 && x < a.size[3];
    return inside ? (place.image * a.size[2] + y) * a.size[3] + x : -1;
  }
  /// Output position whose window has the pixel under this tap; negative: none.
  [[nodiscard]] LOCKSTEP_BOTH std::int64_t over(const Pixel& pixel, std::int64_t tap) const {
    const std::int64_t y = pixel.y - tap / a.size[0] + (a.size[0] - 1) / 2;
    const std::int64_t x = pixel.x - tap % a.size[0] + (a.size[0] - 1) / 2;
    if (y < 0 || x < 0 || y % a.size[1] != 0 || x % a.size[1] != 0) return -1;
    const bool inside = y / a.size[1] < a.size[4] && x / a.size[1] < a.size[5];
    return inside ? (pixel.image * a.size[4] + y / a.size[1]) * a.size[5] + x / a.size[1] : -1;
  }
};

/// Channels per index; they share the pixel arithmetic.
inline constexpr std::int64_t kChannelsTogether = 8;
[[nodiscard]] LOCKSTEP_BOTH constexpr std::int64_t channel_groups(std::int64_t channels) {
  return (channels + kChannelsTogether - 1) / kChannelsTogether;
}

/// im2col: [x] -> [position, tap, channel], an index per position, tap and kChannelsTogether
/// channels; as Windows.
template <class Real, class Args = Arguments>
struct GatherTaps {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Windows<Args> of{a};
    const std::int64_t channels = of.channels();
    const std::int64_t groups = channel_groups(channels);
    const std::int64_t first = i % groups * kChannelsTogether;
    const std::int64_t row = i / groups;
    Pixel place = of.place(row / of.taps());
    place.image += a.size[7];
    const std::int64_t pixel = of.under(place, row % of.taps());
    for (std::int64_t c = first; c < first + kChannelsTogether && c < channels; ++c) {
      store(a.out[0], row * channels + c,
            pixel < 0 ? Real{0} : load<Real>(a.in[0], pixel * channels + c));
    }
  }
};

/// col2im: [position, tap, channel] -> [x], summed, an index per pixel and kChannelsTogether
/// channels; as Windows.
template <class Real, class Args = Arguments>
struct SumTaps {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Windows<Args> of{a};
    const std::int64_t channels = of.channels();
    const std::int64_t groups = channel_groups(channels);
    const std::int64_t first = i % groups * kChannelsTogether;
    const Pixel pixel = of.pixel(i / groups);
    Real sums[kChannelsTogether] = {};
    for (std::int64_t tap = of.taps() - 1; tap >= 0; --tap) {  // places in ascending order
      const std::int64_t place = of.over(pixel, tap);
      if (place < 0) continue;
      const std::int64_t from = (place * of.taps() + tap) * channels + first;
      LOCKSTEP_UNROLL
      for (int c = 0; c < kChannelsTogether; ++c) {
        if (first + c < channels) sums[c] += load<Real>(a.in[0], from + c);
      }
    }
    const std::int64_t to = (a.size[7] * a.size[2] * a.size[3] + i / groups) * channels + first;
    LOCKSTEP_UNROLL
    for (int c = 0; c < kChannelsTogether; ++c) {
      if (first + c < channels) put(a, 0, to + c, sums[c]);
    }
  }
};

/// Max pooling: [x] -> [y]; as Windows
template <class Real, class Args = Arguments>
struct PoolMaximum {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Windows<Args> of{a};
    const Pixel place = of.place(i / of.channels());
    Real most = nothing<Real>();
    for (std::int64_t tap = 0; tap < of.taps(); ++tap) {
      const std::int64_t pixel = of.under(place, tap);
      if (pixel < 0) continue;
      const Real x = load<Real>(a.in[0], pixel * of.channels() + i % of.channels());
      most = x > most ? x : most;
    }
    put(a, 0, i, most);
  }
};

/// Gradient of max pooling: [x, y, g_y] -> [g_x]; of equal pixels in a window the first gets it
/// all; as Windows
template <class Real, class Args = Arguments>
struct PoolMaximumGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const Windows<Args> of{a};
    const std::int64_t channel = i % of.channels();
    const Pixel pixel = of.pixel(i / of.channels());
    Real sum = 0;
    for (std::int64_t tap = of.taps() - 1; tap >= 0; --tap) {
      const std::int64_t place = of.over(pixel, tap);
      if (place < 0 || !is_first(of, place, tap, channel)) continue;
      sum += load<Real>(a.in[2], place * of.channels() + channel);
    }
    put(a, 0, i, sum);
  }

 private:
  /// Whether the pixel under this tap is the first maximum.
  [[nodiscard]] LOCKSTEP_BOTH bool is_first(const Windows<Args>& of, std::int64_t place,
                                            std::int64_t own, std::int64_t channel) const {
    const Real most = load<Real>(a.in[1], place * of.channels() + channel);
    const Pixel at = of.place(place);
    for (std::int64_t tap = 0; tap <= own; ++tap) {
      const std::int64_t pixel = of.under(at, tap);
      if (pixel < 0) continue;
      if (load<Real>(a.in[0], pixel * of.channels() + channel) == most) return tap == own;
    }
    return false;
  }
};

/// Average pooling: [x] -> [y], the mean of all pixels; -; channels, pixels
template <class Real, class Args = Arguments>
struct PoolMean {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t channels = a.size[0];
    const std::int64_t first = i / channels * a.size[1] * channels + i % channels;
    Real sum = 0;
    for (std::int64_t pixel = 0; pixel < a.size[1]; ++pixel) {
      sum += load<Real>(a.in[0], first + pixel * channels) / static_cast<Real>(a.size[1]);
    }
    put(a, 0, i, sum);
  }
};

/// [x, y, g_y] -> [g_x]; -; channels, pixels
template <class Real, class Args = Arguments>
struct PoolMeanGradient {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t channels = a.size[0];
    const std::int64_t from = i / channels / a.size[1] * channels + i % channels;
    put(a, 0, i, load<Real>(a.in[2], from) / static_cast<Real>(a.size[1]));
  }
};

/// Temporal shift (Lin et al., arXiv 1811.08383): [x] -> [y], the first channels from the next
/// frame, the second from the previous one, or reversed; -; channels, elements per frame, frames,
/// channels shifted each way, direction (1, -1)
template <class Real, class Args = Arguments>
struct ShiftInTime {
  Args a;
  LOCKSTEP_BOTH void operator()(std::int64_t i) const {
    const std::int64_t channel = i % a.size[0];
    const std::int64_t frame = i / a.size[1] % a.size[2];
    const std::int64_t by = a.size[4] * (channel < a.size[3]       ? 1
                                         : channel < 2 * a.size[3] ? -1
                                                                   : 0);
    const bool inside = frame + by >= 0 && frame + by < a.size[2];
    put(a, 0, i, inside ? load<Real>(a.in[0], i + by * a.size[1]) : Real{0});
  }
};

}  // namespace lockstep::kernels
