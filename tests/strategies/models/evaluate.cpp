#include "tests/strategies/models/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

namespace lockstep::testing {

namespace {

using Kind = OperationKind;
using Arrays = std::vector<Array>;
using Shapes = std::vector<std::vector<Extent>>;

std::size_t index_of(double value) {
  return static_cast<std::size_t>(std::lround(value));
}

Arrays first(const Arrays& all, std::size_t count) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

Array mapped(Array x, const std::function<double(double)>& f) {
  for (double& value : x.values) value = f(value);
  return x;
}

/// Keys and values with a head per head of queries.
Array repeated(const Array& kv, std::size_t heads) {
  std::vector<Extent> shape = kv.extents;
  const std::size_t groups = kv.length(Dim::kv_heads);
  shape[2] = {Dim::heads, static_cast<std::int64_t>(heads)};
  Array out{shape};
  const std::size_t width = kv.row();
  for (std::size_t token = 0; token < kv.rows() / groups; ++token) {
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t from = (token * groups + head * groups / heads) * width;
      const std::size_t to = (token * heads + head) * width;
      std::copy_n(kv.values.begin() + static_cast<std::ptrdiff_t>(from), width,
                  out.values.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
  return out;
}

/// The sequence of keys and values under another name, so that products tell it from queries'.
Array as_keys(Array kv) {
  kv.extents[1].dim = Dim::keys;
  return kv;
}

Array scores(const Array& q, const Array& k) {
  const std::vector<Extent> shape{
      q.extents[0], q.extents[2], q.extents[1], {Dim::keys, k.extents[1].size}};
  const double factor = 1 / std::sqrt(static_cast<double>(q.row()));
  return mapped(product(q, as_keys(repeated(k, q.length(Dim::heads))), shape),
                [factor](double x) { return x * factor; });
}

Array softmax(const Array& x, bool causal) {
  Array out{x.extents};
  const std::size_t n = x.row();
  for (std::size_t row = 0; row < x.rows(); ++row) {
    const std::size_t seen = causal ? row % n + 1 : n;
    double sum = 0;
    for (std::size_t i = 0; i < seen; ++i) sum += std::exp(x.values[row * n + i]);
    for (std::size_t i = 0; i < seen; ++i) {
      out.values[row * n + i] = std::exp(x.values[row * n + i]) / sum;
    }
  }
  return out;
}

Array context(const Array& probabilities, const Array& v) {
  const std::vector<Extent> shape{probabilities.extents[0], probabilities.extents[2],
                                  probabilities.extents[1], v.extents[3]};
  return product(probabilities, as_keys(repeated(v, probabilities.length(Dim::heads))), shape);
}

/// Over the last dimension; without a bias where `in` has none.
Array normalised(const Operation& operation, const Arrays& in) {
  const Array& x = in[0];
  Array out{x.extents};
  const std::size_t n = x.row();
  for (std::size_t row = 0; row < x.rows(); ++row) {
    const double* from = &x.values[row * n];
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) mean += from[i] / static_cast<double>(n);
    if (operation.norm == Normalisation::rms) mean = 0;
    double variance = 1e-5;
    for (std::size_t i = 0; i < n; ++i) {
      variance += (from[i] - mean) * (from[i] - mean) / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i) {
      out.values[row * n + i] = (from[i] - mean) / std::sqrt(variance) * in[1].values[i] +
                                (in.size() > 2 ? in[2].values[i] : 0);
    }
  }
  return out;
}

/// Over all but the last dimension.
Array batch_normalised(const Arrays& in) {
  const Array& x = in[0];
  Array out{x.extents};
  const std::size_t n = x.row();
  const auto count = static_cast<double>(x.rows());
  for (std::size_t i = 0; i < n; ++i) {
    double mean = 0;
    for (std::size_t row = 0; row < x.rows(); ++row) mean += x.values[row * n + i] / count;
    double variance = 1e-5;
    for (std::size_t row = 0; row < x.rows(); ++row) {
      variance += std::pow(x.values[row * n + i] - mean, 2) / count;
    }
    for (std::size_t row = 0; row < x.rows(); ++row) {
      out.values[row * n + i] =
          (x.values[row * n + i] - mean) / std::sqrt(variance) * in[1].values[i] +
          (in.size() > 2 ? in[2].values[i] : 0);
    }
  }
  return out;
}

double activated(ActivationFunction function, double x) {
  switch (function) {
    case ActivationFunction::relu:
      return std::max(x, 0.0);
    case ActivationFunction::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    default:
      return x / (1 + std::exp(-x));
  }
}

Array activation(const Operation& operation, const Arrays& in) {
  if (operation.function != ActivationFunction::swiglu) {
    return mapped(in[0], [&](double x) { return activated(operation.function, x); });
  }
  Array out = in[0];
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.values[i] *= activated(ActivationFunction::silu, in[1].values[i]);
  }
  return out;
}

/// x [b, s, heads, d] turned pair by pair by the angle token / 10^pair; a shared part [b, s, d] is
/// turned in its place and put behind.
Array rotary(const Arrays& in, const std::vector<Extent>& shape) {
  Array out{shape};
  const std::size_t width = out.row();
  const std::size_t heads = static_cast<std::size_t>(shape[2].size);
  const std::size_t tokens = static_cast<std::size_t>(shape[1].size);
  const std::size_t own = in[0].row();
  const auto turned = [](const double* x, std::size_t i, std::size_t n, std::size_t token) {
    if (i == n - 1 && n % 2 == 1) return x[i];
    const double angle = static_cast<double>(token) / std::pow(10.0, static_cast<double>(i / 2));
    return i % 2 == 0 ? x[i] * std::cos(angle) - x[i + 1] * std::sin(angle)
                      : x[i] * std::cos(angle) + x[i - 1] * std::sin(angle);
  };
  for (std::size_t row = 0; row < out.rows(); ++row) {
    const std::size_t at = row / heads;
    for (std::size_t i = 0; i < width; ++i) {
      double& to = out.values[row * width + i];
      if (in.size() == 1) {
        to = turned(&in[0].values[row * own], i, own, at % tokens);
      } else if (i < own) {
        to = in[0].values[row * own + i];
      } else {
        to = turned(&in[1].values[at * (width - own)], i - own, width - own, at % tokens);
      }
    }
  }
  return out;
}

/// Drops every third.
Arrays dropped(const Operation& operation, const Array& x) {
  Array y = x;
  Array mask{x.extents};
  for (std::size_t i = 0; i < x.size(); ++i) {
    mask.values[i] = i % 3 == 0 ? 0 : 1;
    y.values[i] *= mask.values[i] / (1 - operation.dropout);
  }
  return {y, mask};
}

Array looked_up(const Array& rows, const Array& table, const std::vector<Extent>& shape) {
  Array out{shape};
  const std::size_t n = table.row();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out.values[i * n + j] = table.values[index_of(rows.values[i]) * n + j];
    }
  }
  return out;
}

Array look_up_gradient(const Array& rows, const Array& g, const std::vector<Extent>& shape) {
  Array out{shape};
  const std::size_t n = out.row();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      out.values[index_of(rows.values[i]) * n + j] += g.values[i * n + j];
    }
  }
  return out;
}

Array maxima(const Array& logits, const std::vector<Extent>& shape) {
  Array out{shape};
  const auto n = static_cast<std::ptrdiff_t>(logits.row());
  for (std::size_t row = 0; row < out.size(); ++row) {
    const auto from = logits.values.begin() + static_cast<std::ptrdiff_t>(row) * n;
    out.values[row] = *std::max_element(from, from + n);
  }
  return out;
}

Arrays loss_sums(const Arrays& in, const Shapes& shapes) {
  Arrays out{Array{shapes[0]}, Array{shapes[1]}};
  const std::size_t n = in[0].row();
  for (std::size_t row = 0; row < out[0].size(); ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      out[0].values[row] += std::exp(in[0].values[row * n + i] - in[2].values[row]);
    }
    out[1].values[row] = in[0].values[row * n + index_of(in[1].values[row])];
  }
  return out;
}

Array loss(const Operation& operation, const Arrays& in, const std::vector<Extent>& shape) {
  Array out{shape};
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    out.values[0] +=
        operation.factor * (in[0].values[i] + std::log(in[1].values[i]) - in[2].values[i]);
  }
  return out;
}

Array loss_gradient(const Operation& operation, const Arrays& in) {
  Array out{in[0].extents};
  const std::size_t n = out.row();
  for (std::size_t row = 0; row < out.rows(); ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      const double p = std::exp(in[0].values[row * n + i] - in[2].values[row]) / in[3].values[row];
      out.values[row * n + i] = operation.factor * (p - (i == index_of(in[1].values[row]) ? 1 : 0));
    }
  }
  return out;
}

Array chosen_weights(const Array& logits, const Array& experts) {
  const Array p = softmax(logits, false);
  Array out{experts.extents};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out.values[i] = p.values[i / out.row() * p.row() + index_of(experts.values[i])];
  }
  return out;
}

Arrays routed(const Array& logits, const Shapes& shapes) {
  Array experts{shapes[1]};
  const std::size_t n = logits.row();
  for (std::size_t row = 0; row < experts.rows(); ++row) {
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return logits.values[row * n + a] > logits.values[row * n + b];
    });
    for (std::size_t i = 0; i < experts.row(); ++i) {
      experts.values[row * experts.row() + i] = static_cast<double>(order[i]);
    }
  }
  return {chosen_weights(logits, experts), experts};
}

/// Calls each(token, choice, row of the slots) for every visit that has a slot.
template <class Each>
void for_each_visit(const Array& experts, const std::vector<Extent>& slots, Each&& each) {
  const auto room = static_cast<std::size_t>(slots[1].size);
  std::map<std::size_t, std::size_t> taken;
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const std::size_t expert = index_of(experts.values[i]);
    const std::size_t slot = taken[expert]++;
    if (slot < room) each(i / experts.row(), i, expert * room + slot);
  }
}

Array dispatched(const Array& x, const Array& experts, const std::vector<Extent>& shape) {
  Array out{shape};
  const std::size_t n = x.row();
  for_each_visit(experts, shape, [&](std::size_t token, std::size_t, std::size_t slot) {
    for (std::size_t j = 0; j < n; ++j) out.values[slot * n + j] = x.values[token * n + j];
  });
  return out;
}

Array collected(const Array& g, const Array& experts, const std::vector<Extent>& shape) {
  Array out{shape};
  const std::size_t n = out.row();
  for_each_visit(experts, g.extents, [&](std::size_t token, std::size_t, std::size_t slot) {
    for (std::size_t j = 0; j < n; ++j) out.values[token * n + j] += g.values[slot * n + j];
  });
  return out;
}

Array combined(const Array& slots, const Array& weights, const Array& experts,
               const std::vector<Extent>& shape) {
  Array out{shape};
  const std::size_t n = out.row();
  for_each_visit(experts, slots.extents, [&](std::size_t token, std::size_t i, std::size_t slot) {
    for (std::size_t j = 0; j < n; ++j) {
      out.values[token * n + j] += weights.values[i] * slots.values[slot * n + j];
    }
  });
  return out;
}

/// An array of images or of the frames of clips: height, width, channels stand last.
struct Pixels {
  explicit Pixels(const std::vector<Extent>& shape)
      : height{shape[shape.size() - 3].size},
        width{shape[shape.size() - 2].size},
        channels{shape.back().size} {
    for (std::size_t i = 0; i + 3 < shape.size(); ++i) images *= shape[i].size;
  }
  [[nodiscard]] std::size_t at(std::int64_t image, std::int64_t y, std::int64_t x,
                               std::int64_t channel) const {
    return static_cast<std::size_t>(((image * height + y) * width + x) * channels + channel);
  }
  [[nodiscard]] bool has(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width;
  }
  std::int64_t images = 1;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
};

/// Calls each(image, out y, out x, in y, in x, place in the window) where a window, padded evenly
/// by (side - 1) / 2, meets a pixel.
template <class Each>
void for_each_tap(const Operation& operation, const Pixels& in, const Pixels& out, Each&& each) {
  const std::int64_t side = operation.window;
  for (std::int64_t image = 0; image < out.images; ++image) {
    for (std::int64_t y = 0; y < out.height; ++y) {
      for (std::int64_t x = 0; x < out.width; ++x) {
        for (std::int64_t tap = 0; tap < side * side; ++tap) {
          const std::int64_t v = y * operation.stride + tap / side - (side - 1) / 2;
          const std::int64_t u = x * operation.stride + tap % side - (side - 1) / 2;
          if (in.has(v, u)) each(image, y, x, v, u, tap);
        }
      }
    }
  }
}

Array convolved(const Operation& operation, const Array& x, const Array& weight,
                const std::vector<Extent>& shape) {
  Array out{shape};
  const Pixels from{x.extents};
  const Pixels to{shape};
  for_each_tap(operation, from, to, [&](auto image, auto y, auto u, auto v, auto w, auto tap) {
    for (std::int64_t c = 0; c < from.channels; ++c) {
      for (std::int64_t d = 0; d < to.channels; ++d) {
        const auto place = static_cast<std::size_t>((tap * from.channels + c) * to.channels + d);
        out.values[to.at(image, y, u, d)] +=
            x.values[from.at(image, v, w, c)] * weight.values[place];
      }
    }
  });
  return out;
}

Array pooled(const Operation& operation, const Array& x, const std::vector<Extent>& shape) {
  if (operation.window == 0) {
    const double count = static_cast<double>(x.size()) / static_cast<double>(Array{shape}.size());
    return mapped(spread(x, shape), [count](double sum) { return sum / count; });
  }
  Array out{shape};
  std::fill(out.values.begin(), out.values.end(), -1e300);
  const Pixels from{x.extents};
  const Pixels to{shape};
  for_each_tap(operation, from, to, [&](auto image, auto y, auto u, auto v, auto w, auto) {
    for (std::int64_t c = 0; c < from.channels; ++c) {
      double& most = out.values[to.at(image, y, u, c)];
      most = std::max(most, x.values[from.at(image, v, w, c)]);
    }
  });
  return out;
}

/// An eighth of the channels comes from the frame after, an eighth from the one before.
Array shifted(const Array& x) {
  Array out{x.extents};
  const auto frames = static_cast<std::int64_t>(x.length(Dim::time));
  const auto channels = static_cast<std::int64_t>(x.row());
  const std::int64_t part = std::max<std::int64_t>(1, channels / 8);
  const auto frame = static_cast<std::int64_t>(x.length(Dim::height) * x.length(Dim::width));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const std::int64_t channel = i % channels;
    const std::int64_t t = i / channels / frame % frames;
    const std::int64_t by = channel < part ? 1 : channel < 2 * part ? -1 : 0;
    if (t + by < 0 || t + by >= frames) continue;
    out.values[static_cast<std::size_t>(i)] =
        x.values[static_cast<std::size_t>(i + by * frame * channels)];
  }
  return out;
}

Arrays forward(const Operation& op, const Arrays& in, const Shapes& shapes) {
  const auto empty = [&](std::size_t i) { return Array{shapes.at(i)}; };
  switch (op.kind) {
    case Kind::matmul: {
      Array y = product(in[0], in[1], shapes[0]);
      if (in.size() > 2) {
        const Array bias = spread(in[2], shapes[0]);
        for (std::size_t i = 0; i < y.size(); ++i) y.values[i] += bias.values[i];
      }
      return {y};
    }
    case Kind::attention:
      return {context(softmax(scores(in[0], in[1]), op.causal), in[2]), empty(1)};
    case Kind::attention_scores:
      return {scores(in[0], in[1])};
    case Kind::softmax:
      return {softmax(in[0], op.causal)};
    case Kind::attention_context:
      return {context(in[0], in[1])};
    case Kind::normalisation:
      return {normalised(op, in), empty(1)};
    case Kind::activation:
      return {activation(op, in)};
    case Kind::rotary:
      return {rotary(in, shapes[0])};
    case Kind::dropout:
      return dropped(op, in[0]);
    case Kind::add: {
      Array y = in[0];
      for (std::size_t i = 0; i < y.size(); ++i) y.values[i] += in[1].values[i];
      return {y};
    }
    case Kind::cast:
      return {in[0]};
    case Kind::embedding:
      return {looked_up(in[0], in[1], shapes[0])};
    case Kind::loss_maximum:
      return {maxima(in[0], shapes[0])};
    case Kind::loss_sum:
      return loss_sums(in, shapes);
    case Kind::loss:
      return {loss(op, in, shapes[0])};
    case Kind::router:
      return routed(in[0], shapes);
    case Kind::dispatch:
      return {dispatched(in[0], in[1], shapes[0])};
    case Kind::combine:
      return {combined(in[0], in[1], in[2], shapes[0])};
    case Kind::convolution:
      return {convolved(op, in[0], in[1], shapes[0])};
    case Kind::batch_norm:
      return {batch_normalised(in), empty(1)};
    case Kind::pool:
      return {pooled(op, in[0], shapes[0])};
    case Kind::temporal_shift:
      return {shifted(in[0])};
    default:
      throw std::runtime_error{"cannot evaluate " + std::string{to_string(op.kind)}};
  }
}

/// The inputs of a norm as its gradient operation tells them; whatever the bias, its gradient is
/// the same.
Arrays norm_inputs(const Arrays& in, const Shapes& shapes) {
  Arrays out = first(in, 2);
  if (shapes.size() > 2) out.emplace_back(shapes[2]);
  return out;
}

Array softmax_gradient(const Array& p, const Array& g) {
  Array out{p.extents};
  const std::size_t n = p.row();
  for (std::size_t row = 0; row < p.rows(); ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += p.values[row * n + i] * g.values[row * n + i];
    for (std::size_t i = 0; i < n; ++i) {
      out.values[row * n + i] = p.values[row * n + i] * (g.values[row * n + i] - sum);
    }
  }
  return out;
}

Arrays zeros(const Shapes& shapes) {
  Arrays out;
  for (const auto& shape : shapes) out.emplace_back(shape);
  return out;
}

Arrays activation_gradient(const Operation& op, const Arrays& in) {
  if (op.function == ActivationFunction::relu) {
    Array out = in.back();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (in[0].values[i] <= 0) out.values[i] = 0;
    }
    return {out};
  }
  return pulled_back([&](const Arrays& x) { return activation(op, x); }, first(in, in.size() - 1),
                     in.back());
}

Arrays dropout_gradient(const Operation& op, const Arrays& in) {
  Array out = in[0];
  for (std::size_t i = 0; i < out.size(); ++i) out.values[i] *= in[1].values[i] / (1 - op.dropout);
  return {out};
}

Arrays attention_gradient(const Operation& op, const Arrays& in) {
  switch (op.kind) {
    case Kind::attention_backward:
      return pulled_back(
          [&](const Arrays& x) { return context(softmax(scores(x[0], x[1]), op.causal), x[2]); },
          first(in, 3), in.back());
    case Kind::attention_scores_backward:
      return pulled_back([](const Arrays& x) { return scores(x[0], x[1]); }, first(in, 2),
                         in.back());
    default:
      return pulled_back([](const Arrays& x) { return context(x[0], x[1]); }, first(in, 2),
                         in.back());
  }
}

Arrays image_gradient(const Operation& op, const Arrays& in, const Shapes& shapes) {
  switch (op.kind) {
    case Kind::convolution_input_grad:
      return pulled_back([&](const Arrays& x) { return convolved(op, x[0], in[1], in[0].extents); },
                         zeros(shapes), in[0]);
    case Kind::convolution_weight_grad:
      return pulled_back([&](const Arrays& w) { return convolved(op, in[0], w[0], in[1].extents); },
                         zeros(shapes), in[1]);
    case Kind::batch_norm_backward:
      return pulled_back(batch_normalised, norm_inputs(in, shapes), in.back());
    case Kind::pool_backward:
      return pulled_back([&](const Arrays& x) { return pooled(op, x[0], in[1].extents); }, {in[0]},
                         in[2]);
    default:
      return pulled_back([](const Arrays& x) { return shifted(x[0]); }, zeros(shapes), in[0]);
  }
}

Arrays backward(const Operation& op, const Arrays& in, const Shapes& shapes) {
  switch (op.kind) {
    case Kind::bias_gradient:
      return {spread(in[0], shapes[0])};
    case Kind::attention_backward:
    case Kind::attention_scores_backward:
    case Kind::attention_context_backward:
      return attention_gradient(op, in);
    case Kind::softmax_backward:
      return {softmax_gradient(in[0], in[1])};
    case Kind::normalisation_backward:
      return pulled_back([&](const Arrays& x) { return normalised(op, x); },
                         norm_inputs(in, shapes), in.back());
    case Kind::activation_backward:
      return activation_gradient(op, in);
    case Kind::rotary_backward:
      return pulled_back([&](const Arrays& x) { return rotary(x, in[0].extents); }, zeros(shapes),
                         in[0]);
    case Kind::dropout_backward:
      return dropout_gradient(op, in);
    case Kind::embedding_backward:
      return {look_up_gradient(in[0], in[1], shapes[0])};
    case Kind::loss_backward:
      return {loss_gradient(op, in)};
    case Kind::router_backward:
      return pulled_back([&](const Arrays& x) { return chosen_weights(x[0], in[2]); }, {in[0]},
                         in[3]);
    case Kind::dispatch_backward:
      return {collected(in[0], in[1], shapes[0])};
    case Kind::combine_backward:
      return pulled_back(
          [&](const Arrays& x) { return combined(x[0], x[1], in[2], in[3].extents); }, first(in, 2),
          in[3]);
    case Kind::convolution_input_grad:
    case Kind::convolution_weight_grad:
    case Kind::batch_norm_backward:
    case Kind::pool_backward:
    case Kind::temporal_shift_backward:
      return image_gradient(op, in, shapes);
    default:
      return forward(op, in, shapes);
  }
}

}  // namespace

std::vector<Array> evaluate(const Operation& operation, const std::vector<Array>& reads,
                            const std::vector<std::vector<Extent>>& shapes) {
  return backward(operation, reads, shapes);
}

}  // namespace lockstep::testing
