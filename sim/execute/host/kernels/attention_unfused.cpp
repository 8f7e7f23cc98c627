#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/execute/host/kernels/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// Rows [b, s, heads, width] of queries, keys or values beside scores [b, a, s, t].
class Rows {
 public:
  Rows(const KernelCall& call, const PartLayout& rows, const PartLayout& scores)
      : rows_{rows}, width{rows.axes[3].length()} {
    const bool keys = rows.axes[2].dim == Dim::kv_heads;
    const PartAxis& tokens = scores.axes[keys ? 3 : 2];
    if (rows.axes[0].at != scores.axes[0].at) refuse(call, "scores of other sequences");
    for (const std::int64_t token : tokens.at) token_.push_back(place(call, rows.axes[1], token));
    for (const std::int64_t head : scores.axes[1].at) {
      head_.push_back(place(call, rows.axes[2], head * rows.axes[2].size / scores.axes[1].size));
    }
  }
  [[nodiscard]] std::size_t at(std::int64_t b, std::int64_t head, std::int64_t token) const {
    const std::int64_t row = b * rows_.axes[1].length() + token_[static_cast<std::size_t>(token)];
    return static_cast<std::size_t>(
        (row * rows_.axes[2].length() + head_[static_cast<std::size_t>(head)]) * width);
  }

 private:
  [[nodiscard]] static std::int64_t place(const KernelCall& call, const PartAxis& axis,
                                          std::int64_t global) {
    const auto found = std::find(axis.at.begin(), axis.at.end(), global);
    if (found == axis.at.end()) {
      refuse(call, fmt::format("needs {} {}, which is not there", to_string(axis.dim), global));
    }
    return found - axis.at.begin();
  }

  const PartLayout& rows_;
  std::vector<std::int64_t> token_{};
  std::vector<std::int64_t> head_{};

 public:
  std::int64_t width;
};

/// Calls each(b, head, s, t, index) for every score.
template <class Each>
void for_each_score(const PartLayout& scores, Each&& each) {
  std::size_t index = 0;
  for (std::int64_t b = 0; b < scores.axes[0].length(); ++b) {
    for (std::int64_t head = 0; head < scores.axes[1].length(); ++head) {
      for (std::int64_t s = 0; s < scores.axes[2].length(); ++s) {
        for (std::int64_t t = 0; t < scores.axes[3].length(); ++t) each(b, head, s, t, index++);
      }
    }
  }
}

[[nodiscard]] double factor_of(const PartLayout& q) {
  return 1 / std::sqrt(static_cast<double>(q.axes[3].size));
}

/// y += factor * x.
void add_scaled(double factor, const double* x, double* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

[[nodiscard]] double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void attention_scores(KernelCall& call) {
  KernelResult& out = call.write(0);
  const Rows q{call, *call.read(0).layout, *out.layout};
  const Rows k{call, *call.read(1).layout, *out.layout};
  const double factor = factor_of(*call.read(0).layout);
  for_each_score(*out.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    out.values[index] = factor * dot(call.read(0).data() + q.at(b, head, s),
                                     call.read(1).data() + k.at(b, head, t), q.width);
  });
}

void attention_scores_backward(KernelCall& call) {
  const KernelOperand& g = call.read(2);
  const Rows q{call, *call.read(0).layout, *g.layout};
  const Rows k{call, *call.read(1).layout, *g.layout};
  const double factor = factor_of(*call.read(0).layout);
  for_each_score(*g.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    const double value = factor * g.data()[index];
    add_scaled(value, call.read(1).data() + k.at(b, head, t),
               call.write(0).values.data() + q.at(b, head, s), q.width);
    add_scaled(value, call.read(0).data() + q.at(b, head, s),
               call.write(1).values.data() + k.at(b, head, t), q.width);
  });
}

void softmax(KernelCall& call) {
  const PartLayout& layout = *call.write(0).layout;
  const PartAxis& queries = axis_of(call, *call.write(0).tensor, layout, Dim::sequence);
  const PartAxis& keys = layout.axes.back();
  check_whole(call, *call.write(0).tensor, keys);
  const auto width = static_cast<std::size_t>(keys.length());
  for (std::size_t row = 0; row * width < call.read(0).size(); ++row) {
    const std::int64_t token = queries.at[row % queries.at.size()];
    const double* from = call.read(0).data() + row * width;
    double* to = call.write(0).values.data() + row * width;
    const auto sees = [&](std::size_t i) { return !call.operation->causal || keys.at[i] <= token; };
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < width; ++i)
      maximum = sees(i) ? std::max(maximum, from[i]) : maximum;
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i)
      sum += to[i] = sees(i) ? std::exp(from[i] - maximum) : 0;
    for (std::size_t i = 0; i < width; ++i) to[i] /= sum;
  }
}

void softmax_backward(KernelCall& call) {
  const auto width = static_cast<std::size_t>(call.read(0).layout->axes.back().length());
  for (std::size_t first = 0; first < call.read(0).size(); first += width) {
    const double* p = call.read(0).data() + first;
    const double* g = call.read(1).data() + first;
    const double mean = dot(p, g, static_cast<std::int64_t>(width));
    for (std::size_t i = 0; i < width; ++i) call.write(0).values[first + i] = p[i] * (g[i] - mean);
  }
}

void attention_context(KernelCall& call) {
  const KernelOperand& p = call.read(0);
  const Rows v{call, *call.read(1).layout, *p.layout};
  const Rows o{call, *call.write(0).layout, *p.layout};
  for_each_score(*p.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    add_scaled(p.data()[index], call.read(1).data() + v.at(b, head, t),
               call.write(0).values.data() + o.at(b, head, s), v.width);
  });
}

void attention_context_backward(KernelCall& call) {
  const KernelOperand& p = call.read(0);
  const Rows v{call, *call.read(1).layout, *p.layout};
  const Rows o{call, *call.read(2).layout, *p.layout};
  for_each_score(*p.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    const double* g = call.read(2).data() + o.at(b, head, s);
    call.write(0).values[index] = dot(g, call.read(1).data() + v.at(b, head, t), v.width);
    add_scaled(p.data()[index], g, call.write(1).values.data() + v.at(b, head, t), v.width);
  });
}

}  // namespace lockstep::kernels
