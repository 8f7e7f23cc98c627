#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/execute/host/kernels/kernel_list.hpp"
#include "sim/execute/host/kernels/random_bits.hpp"

namespace lockstep::kernels {

namespace {

/// All operands lie alike.
void check_alike(const KernelCall& call, const KernelOperand& read, const KernelResult& write) {
  if (read.size() == write.values.size()) return;
  refuse(call, fmt::format("{} has {} values and {} {}", read.tensor->name, read.size(),
                           write.tensor->name, write.values.size()));
}

[[nodiscard]] double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Activated {
  double value = 0;
  double slope = 0;
};

/// GELU: Hendrycks and Gimpel, arXiv 1606.08415, the exact form.
[[nodiscard]] Activated activated(ActivationFunction function, double x) {
  switch (function) {
    case ActivationFunction::relu:
      return x > 0 ? Activated{x, 1} : Activated{};
    case ActivationFunction::gelu: {
      const double below = 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
      const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1.0));
      return {x * below, below + x * density};
    }
    default: {
      const double s = sigmoid(x);
      return {x * s, s + x * s * (1 - s)};
    }
  }
}

/// Angle by which pair `i / 2` of a head is turned at a token.
[[nodiscard]] double angle_of(std::int64_t token, std::int64_t i) {
  return static_cast<double>(token) / std::pow(10.0, static_cast<double>(i / 2));
}

/// Turns `count` numbers pair by pair, back for direction -1; a last one without a partner stays.
void turn(const double* from, double* to, std::int64_t count, std::int64_t token, int direction) {
  for (std::int64_t i = 0; i + 1 < count; i += 2) {
    const double angle = direction * angle_of(token, i);
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

}  // namespace

void activation(KernelCall& call) {
  check_alike(call, call.read(0), call.write(0));
  const bool gated = call.operation->function == ActivationFunction::swiglu;
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    const double x = call.read(0).data()[i];
    call.write(0).values[i] =
        gated ? x * activated(ActivationFunction::silu, call.read(1).data()[i]).value
              : activated(call.operation->function, x).value;
  }
}

void activation_backward(KernelCall& call) {
  const KernelOperand& g = call.reads.back();
  check_alike(call, g, call.write(0));
  const bool gated = call.operation->function == ActivationFunction::swiglu;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double x = call.read(0).data()[i];
    if (gated) {
      const Activated gate = activated(ActivationFunction::silu, call.read(1).data()[i]);
      call.write(0).values[i] = g.data()[i] * gate.value;
      call.write(1).values[i] = g.data()[i] * x * gate.slope;
    } else {
      call.write(0).values[i] = g.data()[i] * activated(call.operation->function, x).slope;
    }
  }
}

void rotary(KernelCall& call) {
  const KernelOperand& x = call.read(0);
  KernelResult& y = call.write(0);
  const std::int64_t width = y.layout->axes[3].length();
  const std::int64_t own = x.layout->axes[3].length();
  const bool shared = call.reads.size() > 1;
  const std::int64_t other = shared ? call.read(1).layout->axes[2].length() : 0;
  if (width != own + other) refuse(call, "the parts of heads are not as long as heads");
  for_each_head(*y.layout, [&](std::int64_t row, std::int64_t at, std::int64_t token) {
    double* to = y.values.data() + row * width;
    if (shared) {
      std::copy_n(x.data() + row * own, own, to);
      turn(call.read(1).data() + at * (width - own), to + own, width - own, token, 1);
    } else {
      turn(x.data() + row * own, to, own, token, 1);
    }
  });
}

void rotary_backward(KernelCall& call) {
  const KernelOperand& g = call.read(0);
  const std::int64_t width = g.layout->axes[3].length();
  const std::int64_t own = call.write(0).layout->axes[3].length();
  const bool shared = call.writes.size() > 1;
  const std::int64_t other = shared ? call.write(1).layout->axes[2].length() : 0;
  if (width != own + other) refuse(call, "the parts of heads are not as long as heads");
  for_each_head(*g.layout, [&](std::int64_t row, std::int64_t at, std::int64_t token) {
    const double* from = g.data() + row * width;
    if (shared) {
      std::copy_n(from, own, call.write(0).values.data() + row * own);
      turn(from + own, call.write(1).values.data() + at * (width - own), width - own, token, -1);
    } else {
      turn(from, call.write(0).values.data() + row * own, own, token, -1);
    }
  });
}

void dropout(KernelCall& call) {
  check_alike(call, call.read(0), call.write(0));
  const std::vector<std::int64_t> places = call.read(0).layout->global_indices();
  const double probability = call.operation->dropout;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::uint64_t>(places[i]);
    const bool kept = unit_interval(mixed(call.draw, place)) >= probability;
    call.write(1).values[i] = kept ? 1 : 0;
    call.write(0).values[i] = kept ? call.read(0).data()[i] / (1 - probability) : 0;
  }
}

void dropout_backward(KernelCall& call) {
  check_alike(call, call.read(0), call.write(0));
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    call.write(0).values[i] =
        call.read(0).data()[i] * call.read(1).data()[i] / (1 - call.operation->dropout);
  }
}

void add(KernelCall& call) {
  check_alike(call, call.read(0), call.write(0));
  check_alike(call, call.read(1), call.write(0));
  for (std::size_t i = 0; i < call.read(0).size(); ++i) {
    call.write(0).values[i] = call.read(0).data()[i] + call.read(1).data()[i];
  }
}

void scale(KernelCall& call) {
  copy(call);
  for (double& value : call.write(0).values) value *= call.operation->factor;
}

void copy(KernelCall& call) {
  const std::int64_t copied = copy_common(*call.read(0).layout, *call.read(0).values,
                                          *call.write(0).layout, call.write(0).values, false);
  if (copied != call.write(0).layout->filled()) {
    refuse(call, fmt::format("{} has {} of the {} values that {} takes", call.read(0).tensor->name,
                             copied, call.write(0).layout->filled(), call.write(0).tensor->name));
  }
}

}  // namespace lockstep::kernels
