#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/sim/execute/reference/kernel_list.hpp"

namespace lockstep::kernels {

namespace {

/// Rows [b, s, heads, width] of queries, keys or values next to scores [b, a, s, t].
class Rows {
 public:
  Rows(const KernelSettings& call, const PartLayout& rows, const PartLayout& scores)
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
  [[nodiscard]] static std::int64_t place(const KernelSettings& call, const PartAxis& axis,
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

template <class Real>
[[nodiscard]] Real factor_of(const PartLayout& q) {
  return 1 / std::sqrt(static_cast<Real>(q.axes[3].size));
}

/// y += factor * x.
template <class Real>
void add_scaled(Real factor, const Real* x, Real* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

template <class Real>
[[nodiscard]] Real dot(const Real* a, const Real* b, std::int64_t count) {
  Real sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

template <class Real>
void attention_scores(KernelCall<Real>& call) {
  KernelResult<Real>& out = call.write(0);
  const Rows q{call, *call.read(0).layout, *out.layout};
  const Rows k{call, *call.read(1).layout, *out.layout};
  const Real factor = factor_of<Real>(*call.read(0).layout);
  for_each_score(*out.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    out.values[index] = factor * dot(call.read(0).data() + q.at(b, head, s),
                                     call.read(1).data() + k.at(b, head, t), q.width);
  });
}

template <class Real>
void attention_scores_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& g = call.read(2);
  const Rows q{call, *call.read(0).layout, *g.layout};
  const Rows k{call, *call.read(1).layout, *g.layout};
  const Real factor = factor_of<Real>(*call.read(0).layout);
  for_each_score(*g.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    const Real value = factor * g.data()[index];
    add_scaled(value, call.read(1).data() + k.at(b, head, t),
               call.write(0).values.data() + q.at(b, head, s), q.width);
    add_scaled(value, call.read(0).data() + q.at(b, head, s),
               call.write(1).values.data() + k.at(b, head, t), q.width);
  });
}

template <class Real>
void softmax(KernelCall<Real>& call) {
  const PartLayout& layout = *call.write(0).layout;
  const PartAxis& queries = axis_of(call, *call.write(0).tensor, layout, Dim::sequence);
  const PartAxis& keys = layout.axes.back();
  check_whole(call, *call.write(0).tensor, keys);
  const auto width = static_cast<std::size_t>(keys.length());
  for (std::size_t row = 0; row * width < call.read(0).size(); ++row) {
    const std::int64_t token = queries.at[row % queries.at.size()];
    const Real* from = call.read(0).data() + row * width;
    Real* to = call.write(0).values.data() + row * width;
    const auto sees = [&](std::size_t i) {
      return !call.operation->causal || call.operation->visible.sees(token, keys.at[i]);
    };
    Real maximum = -std::numeric_limits<Real>::infinity();
    for (std::size_t i = 0; i < width; ++i)
      maximum = sees(i) ? std::max(maximum, from[i]) : maximum;
    Real sum = 0;
    for (std::size_t i = 0; i < width; ++i)
      sum += to[i] = sees(i) ? std::exp(from[i] - maximum) : 0;
    for (std::size_t i = 0; i < width; ++i) to[i] /= sum;
  }
}

template <class Real>
void softmax_backward(KernelCall<Real>& call) {
  const auto width = static_cast<std::size_t>(call.read(0).layout->axes.back().length());
  for (std::size_t first = 0; first < call.read(0).size(); first += width) {
    const Real* p = call.read(0).data() + first;
    const Real* g = call.read(1).data() + first;
    const Real mean = dot(p, g, static_cast<std::int64_t>(width));
    for (std::size_t i = 0; i < width; ++i) call.write(0).values[first + i] = p[i] * (g[i] - mean);
  }
}

template <class Real>
void attention_context(KernelCall<Real>& call) {
  const KernelOperand<Real>& p = call.read(0);
  const Rows v{call, *call.read(1).layout, *p.layout};
  const Rows o{call, *call.write(0).layout, *p.layout};
  for_each_score(*p.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    add_scaled(p.data()[index], call.read(1).data() + v.at(b, head, t),
               call.write(0).values.data() + o.at(b, head, s), v.width);
  });
}

template <class Real>
void attention_context_backward(KernelCall<Real>& call) {
  const KernelOperand<Real>& p = call.read(0);
  const Rows v{call, *call.read(1).layout, *p.layout};
  const Rows o{call, *call.read(2).layout, *p.layout};
  for_each_score(*p.layout, [&](auto b, auto head, auto s, auto t, std::size_t index) {
    const Real* g = call.read(2).data() + o.at(b, head, s);
    call.write(0).values[index] = dot(g, call.read(1).data() + v.at(b, head, t), v.width);
    add_scaled(p.data()[index], g, call.write(1).values.data() + v.at(b, head, t), v.width);
  });
}

/// As transformers' T5Attention._relative_position_bucket has it, for one distance.
[[nodiscard]] std::int64_t relative_position_bucket(std::int64_t relative_position,
                                                    bool bidirectional, std::int64_t num_buckets) {
  constexpr double kMaxDistance = 128;
  std::int64_t relative_buckets = 0;
  if (bidirectional) {
    num_buckets /= 2;
    relative_buckets += (relative_position > 0 ? 1 : 0) * num_buckets;
    relative_position = relative_position < 0 ? -relative_position : relative_position;
  } else {
    relative_position = relative_position < 0 ? -relative_position : 0;
  }
  const std::int64_t max_exact = num_buckets / 2;
  if (relative_position < max_exact) return relative_buckets + relative_position;
  const double large =
      std::log(static_cast<double>(relative_position) / static_cast<double>(max_exact)) /
      std::log(kMaxDistance / static_cast<double>(max_exact)) *
      static_cast<double>(num_buckets - max_exact);
  return relative_buckets + std::min(max_exact + static_cast<std::int64_t>(large), num_buckets - 1);
}

/// Calls each(element of the scores, element of the table).
template <class Each>
void for_each_distance(const Operation& operation, const PartLayout& scores,
                       const PartLayout& table, Each&& each) {
  const std::int64_t heads = table.axes[1].length();
  std::size_t at = 0;
  for (std::int64_t b = 0; b < scores.axes[0].length(); ++b) {
    for (std::int64_t head = 0; head < heads; ++head) {
      for (const std::int64_t query : scores.axes[2].at) {
        for (const std::int64_t key : scores.axes[3].at) {
          const std::int64_t bucket =
              relative_position_bucket(key - query, !operation.causal, table.axes[0].size);
          each(at++, static_cast<std::size_t>(bucket * heads + head));
        }
      }
    }
  }
}

template <class Real>
void relative_bias(KernelCall<Real>& call) {
  for_each_distance(*call.operation, *call.read(0).layout, *call.read(1).layout,
                    [&](std::size_t score, std::size_t entry) {
                      call.write(0).values[score] =
                          call.read(0).data()[score] + call.read(1).data()[entry];
                    });
}

template <class Real>
void relative_bias_backward(KernelCall<Real>& call) {
  for_each_distance(*call.operation, *call.read(0).layout, *call.write(0).layout,
                    [&](std::size_t score, std::size_t entry) {
                      call.write(0).values[entry] += call.read(0).data()[score];
                    });
}

template void relative_bias(KernelCall<float>&);
template void relative_bias(KernelCall<double>&);
template void relative_bias_backward(KernelCall<float>&);
template void relative_bias_backward(KernelCall<double>&);
template void attention_scores(KernelCall<float>&);
template void attention_scores(KernelCall<double>&);
template void attention_scores_backward(KernelCall<float>&);
template void attention_scores_backward(KernelCall<double>&);
template void softmax(KernelCall<float>&);
template void softmax(KernelCall<double>&);
template void softmax_backward(KernelCall<float>&);
template void softmax_backward(KernelCall<double>&);
template void attention_context(KernelCall<float>&);
template void attention_context(KernelCall<double>&);
template void attention_context_backward(KernelCall<float>&);
template void attention_context_backward(KernelCall<double>&);

}  // namespace lockstep::kernels
