#include <algorithm>
#include <array>

#include "sim/execute/device_kernels/image_functions.hpp"
#include "sim/execute/kernels/kernel_checks.hpp"
#include "sim/execute/kernels/lowering_parts.hpp"

namespace lockstep::lowering {

namespace {

/// Images, or the frames of clips: height, width, channels stand last.
struct Pixels {
  explicit Pixels(const PartLayout& layout)
      : height{layout.axes[layout.axes.size() - 3].length()},
        width{layout.axes[layout.axes.size() - 2].length()},
        channels{layout.axes.back().length()},
        images{layout.unflattened() / std::max<std::int64_t>(1, height * width * channels)} {}

  [[nodiscard]] std::int64_t of_image() const { return height * width; }
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
  std::int64_t images;
};

[[nodiscard]] std::vector<std::int64_t> windows(const Operation& operation, const Pixels& x,
                                                const Pixels& y, std::int64_t first_image = 0) {
  return {operation.window, operation.stride, x.height,   x.width,
          y.height,         y.width,          x.channels, first_image};
}

/// A convolution as GEMMs of what is under windows (place by tap and channel) with the weight
/// (tap and channel by channel), some images at a time.
struct Convolution {
  Convolution(const Lowering& to, const PartLayout& in, const PartLayout& result)
      : operation{to.operation()},
        x{in},
        y{result},
        depth{std::int64_t{operation.window} * operation.window * x.channels},
        together{std::clamp<std::int64_t>(
            to.max_scratch_elements / std::max<std::int64_t>(1, y.of_image() * depth), 1,
            std::max<std::int64_t>(1, x.images))} {}

  /// Windows of one pixel are the images themselves.
  [[nodiscard]] bool is_plain() const { return operation.window == 1 && operation.stride == 1; }
  [[nodiscard]] std::int64_t places(std::int64_t first) const {
    return std::min(together, x.images - first) * y.of_image();
  }
  [[nodiscard]] std::int64_t taps() const { return depth / x.channels; }
  [[nodiscard]] std::int64_t groups() const { return kernels::channel_groups(x.channels); }
  [[nodiscard]] LoweredOperand scratch(Lowering& to, LoweredScratch of) const {
    of.elements = together * y.of_image() * depth;
    return to.scratch(of);
  }
  /// Where the places of images from this one on begin in y, and in x where it is plain.
  [[nodiscard]] std::int64_t first_y(std::int64_t image) const {
    return image * y.of_image() * y.channels;
  }
  [[nodiscard]] std::int64_t first_x(std::int64_t image) const {
    return image * x.of_image() * x.channels;
  }

  const Operation& operation;
  Pixels x;
  Pixels y;
  std::int64_t depth;
  std::int64_t together;  // images
};

/// each(first image, what is under the windows of its images, where that begins).
template <class Each>
void for_each_part(Lowering& to, const Convolution& of, Each&& each) {
  if (of.is_plain()) {
    for (std::int64_t i = 0; i < of.x.images; i += of.together)
      each(i, to.read(Operand::x), of.first_x(i));
    return;
  }
  const LoweredOperand taps = of.scratch(to, {0, NumberType::fp32, 0});
  for (std::int64_t i = 0; i < of.x.images; i += of.together) {
    to.add(F::gather_taps, of.places(i) * of.taps() * of.groups(), {to.read(Operand::x)}, {taps})
        .sizes = windows(of.operation, of.x, of.y, i);
    each(i, taps, 0);
  }
}

void convolution(Lowering& to) {
  const Convolution of{to, to.in(Operand::x), to.to(Operand::y)};
  const std::int64_t n = of.y.channels;
  for_each_part(to, of, [&](std::int64_t image, LoweredOperand taps, std::int64_t first) {
    gemm(to, of.places(image), n, of.depth, {taps, first, of.depth, 1},
         {to.read(Operand::weight), 0, n, 1}, {to.written(Operand::y), of.first_y(image), n, 1});
  });
}

void convolution_weight_grad(Lowering& to) {
  const Convolution of{to, to.in(Operand::x), to.in(gradient_of(Operand::y))};
  const std::int64_t n = of.y.channels;
  for_each_part(to, of, [&](std::int64_t image, LoweredOperand taps, std::int64_t first) {
    KernelLaunch& launch = gemm(to, of.depth, n, of.places(image), {taps, first, 1, of.depth},
                                {to.read(gradient_of(Operand::y)), of.first_y(image), n, 1},
                                {to.written(gradient_of(Operand::weight)), 0, n, 1});
    if (image > 0) launch.adds = 1;
  });
}

void convolution_input_grad(Lowering& to) {
  const Convolution of{to, to.to(gradient_of(Operand::x)), to.in(gradient_of(Operand::y))};
  const std::int64_t n = of.y.channels;
  const auto image_gemm = [&](std::int64_t image, const Matrix& y) {
    gemm(to, of.places(image), of.depth, n,
         {to.read(gradient_of(Operand::y)), of.first_y(image), n, 1},
         {to.read(Operand::weight), 0, 1, n}, y);
  };
  if (of.is_plain()) {
    for (std::int64_t i = 0; i < of.x.images; i += of.together) {
      image_gemm(i, {to.written(gradient_of(Operand::x)), of.first_x(i), of.depth, 1});
    }
    return;
  }
  const LoweredOperand taps = of.scratch(to, {0, to.computes, {}});
  for (std::int64_t i = 0; i < of.x.images; i += of.together) {
    image_gemm(i, {taps, 0, of.depth, 1});
    const std::int64_t images = std::min(of.together, of.x.images - i);
    to.add(F::sum_taps, images * of.x.of_image() * of.groups(), {taps},
           {to.written(gradient_of(Operand::x))})
        .sizes = windows(of.operation, of.x, of.y, i);
  }
}

void pool(Lowering& to) {
  if (to.operation().window == 0) {
    to.each(F::pool_mean).sizes = {
        width_of(to.in(Operand::x)),
        to.in(Operand::x).unflattened() / to.to(Operand::y).unflattened()};
    return;
  }
  to.each(F::pool_maximum).sizes =
      windows(to.operation(), Pixels{to.in(Operand::x)}, Pixels{to.to(Operand::y)});
}

void pool_backward(Lowering& to) {
  if (to.operation().window == 0) {
    to.each(F::pool_mean_gradient).sizes = {
        width_of(to.in(Operand::x)),
        to.in(Operand::x).unflattened() / to.in(Operand::y).unflattened()};
    return;
  }
  to.each(F::pool_maximum_gradient).sizes =
      windows(to.operation(), Pixels{to.in(Operand::x)}, Pixels{to.in(Operand::y)});
}

/// Its gradient goes the other way.
void temporal_shift(Lowering& to) {
  const bool forward = to.reads_it(Operand::x);
  const PartLayout& from = to.in(forward ? Operand::x : gradient_of(Operand::y));
  const Pixels x{from};
  to.each(F::shift_in_time).sizes = {x.channels, x.of_image() * x.channels,
                                     from.find(Dim::time)->length(),
                                     std::max<std::int64_t>(1, x.channels / 8), forward ? 1 : -1};
}

/// Tokens of images [b, s, h], all on this rank.
struct Tokens {
  Tokens(const Lowering& to, const Tensor& tensor, const PartLayout& layout)
      : images{layout.axes[0].length()}, count{layout.axes[1].length()}, width{width_of(layout)} {
    kernels::check_whole(to.call, tensor, layout.axes[1]);
    kernels::check_whole(to.call, tensor, layout.axes[2]);
  }

  [[nodiscard]] std::int64_t elements() const { return images * count * width; }
  /// Where the first tokens stand.
  [[nodiscard]] Table firsts() const {
    Table out;
    for (std::int64_t image = 0; image < images; ++image)
      for (std::int64_t i = 0; i < width; ++i) out.push_back(image * count * width + i);
    return out;
  }
  /// Where the others do.
  [[nodiscard]] Table others() const {
    Table out;
    for (std::int64_t i = 0; i < elements(); ++i)
      if (i / width % count > 0) out.push_back(i);
    return out;
  }

  std::int64_t images;
  std::int64_t count;
  std::int64_t width;
};

KernelLaunch& move(Lowering& to, std::int64_t count, LoweredOperand from, LoweredOperand result,
                   std::vector<TablePtr> places) {
  KernelLaunch& launch = to.add(F::move, count, {from}, {result});
  launch.numbers = {1};
  launch.tables = std::move(places);
  return launch;
}

void class_token(Lowering& to) {
  const Tokens y{to, to.tensor_to(Operand::y), to.to(Operand::y)};
  move(to, to.in(Operand::x).elements(), to.read(Operand::x), to.written(Operand::y),
       {table_of(y.others()), nullptr});
  Table width;
  for (std::int64_t i = 0; i < y.images * y.width; ++i) width.push_back(i % y.width);
  move(to, y.images * y.width, to.read(Operand::weight), to.written(Operand::y),
       {table_of(y.firsts()), table_of(std::move(width))});
}

void class_token_backward(Lowering& to) {
  constexpr Operand kGradient = gradient_of(Operand::y);
  const Tokens g{to, to.tensor_in(kGradient), to.in(kGradient)};
  move(to, to.to(gradient_of(Operand::x)).elements(), to.read(kGradient),
       to.written(gradient_of(Operand::x)), {nullptr, table_of(g.others())});
  const PartSums sums = part_sums(to, F::sum_columns, g.images, g.width, 1, {to.read(kGradient)});
  Table rows;
  for (std::int64_t image = 0; image < g.images; ++image) rows.push_back(image * g.count * g.width);
  to.out.kernels.back().launch.tables = {nullptr, table_of(std::move(rows))};
  add_parts(to, sums, {to.written(gradient_of(Operand::weight))});
}

void pool_tokens(Lowering& to) {
  const Tokens x{to, to.tensor_in(Operand::x), to.in(Operand::x)};
  if (to.operation().window == 0) {
    to.each(F::pool_mean).sizes = {x.width, x.count};
  } else {
    move(to, x.images * x.width, to.read(Operand::x), to.written(Operand::y),
         {nullptr, table_of(x.firsts())});
  }
}

void pool_tokens_backward(Lowering& to) {
  constexpr Operand kGradient = gradient_of(Operand::x);
  const Tokens x{to, to.tensor_to(kGradient), to.to(kGradient)};
  const LoweredOperand g = to.read(gradient_of(Operand::y));
  if (to.operation().window == 0) {
    to.add(F::pool_mean_gradient, x.elements(), {g, g, g}, {to.written(kGradient)}).sizes = {
        x.width, x.count};
    return;
  }
  Table from;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const bool first = i / x.width % x.count == 0;
    from.push_back(first ? i / x.width / x.count * x.width + i % x.width : -1);
  }
  move(to, x.elements(), g, to.written(kGradient), {nullptr, table_of(std::move(from))});
}

}  // namespace

std::span<const KindLowering> image_kinds() {
  static constexpr std::array kKinds{
      KindLowering{OperationKind::convolution, convolution},
      KindLowering{OperationKind::convolution_input_grad, convolution_input_grad},
      KindLowering{OperationKind::convolution_weight_grad, convolution_weight_grad},
      KindLowering{OperationKind::pool, pool},
      KindLowering{OperationKind::pool_backward, pool_backward},
      KindLowering{OperationKind::temporal_shift, temporal_shift},
      KindLowering{OperationKind::temporal_shift_backward, temporal_shift},
      KindLowering{OperationKind::class_token, class_token},
      KindLowering{OperationKind::class_token_backward, class_token_backward},
      KindLowering{OperationKind::pool_tokens, pool_tokens},
      KindLowering{OperationKind::pool_tokens_backward, pool_tokens_backward},
  };
  return kKinds;
}

}  // namespace lockstep::lowering
