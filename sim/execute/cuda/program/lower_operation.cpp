#include "sim/execute/cuda/program/lower_operation.hpp"

#include <algorithm>
#include <cmath>

#include "sim/execute/cuda/program/lowering_parts.hpp"

namespace lockstep {

namespace lowering {

namespace {

constexpr double kEpsilon = 1e-5;  // of norms, as the host's kernels have it

}  // namespace

TablePtr table_of(Table places) {
  bool identity = true;
  for (std::size_t i = 0; i < places.size() && identity; ++i) {
    identity = places[i] == static_cast<std::int64_t>(i);
  }
  return identity ? nullptr : std::make_shared<const Table>(std::move(places));
}

TablePtr inverse_of(const PartAxis& axis) {
  Table out(static_cast<std::size_t>(axis.size), -1);
  for (std::size_t i = 0; i < axis.at.size(); ++i) {
    if (axis.at[i] >= 0) out[static_cast<std::size_t>(axis.at[i])] = static_cast<std::int64_t>(i);
  }
  return table_of(std::move(out));
}

KernelLaunch launch_of(KernelFunction function, std::int64_t count) {
  KernelLaunch out;
  out.function = function;
  out.count = count;
  return out;
}

std::int64_t rows_of(const PartLayout& layout) {
  const std::int64_t width = layout.axes.back().length();
  return width == 0 ? 0 : layout.elements() / width;
}

Table places_of_common(const PartLayout& from, const PartLayout& to) {
  std::vector<double> numbers(static_cast<std::size_t>(from.elements()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) + 1;
  std::vector<double> found(static_cast<std::size_t>(to.elements()), 0);
  copy_common(from, numbers, to, found, false);
  Table out;
  for (const double number : found) out.push_back(std::llround(number) - 1);
  return out;
}

namespace {

template <class Real>
class Lowering {
 public:
  using Kind = OperationKind;
  using F = KernelFunction;

  Lowering(const KernelCall<Real>& call, const std::vector<bool>& adds)
      : call_{call}, adds_{adds} {}

  [[nodiscard]] Kernels run() const {
    Kernels out = of_its_own();
    if (out.empty()) out = {on_host()};
    clear_padding(out);
    for (LoweredKernel& each : out) {
      each.launch.in_doubles = sizeof(Real) == sizeof(double);
      each.launch.name = call_.operation->name;
    }
    return out;
  }

 private:
  [[nodiscard]] const PartLayout& in(std::size_t i) const { return *call_.read(i).layout; }
  [[nodiscard]] const PartLayout& to(std::size_t i) const { return *call_.writes.at(i).layout; }
  [[nodiscard]] const Operation& operation() const { return *call_.operation; }

  /// Empty where there is none.
  [[nodiscard]] Kernels of_its_own() const {
    switch (operation().kind) {
      case Kind::matmul:
        return matmul(call_, in(0), in(1), to(0), call_.reads.size() > 2 ? &in(2) : nullptr,
                      adds_[0]);
      case Kind::bias_gradient:
        return bias_gradient(in(0), to(0), adds_[0]);
      case Kind::attention:
        return attention(call_, {in(0), in(1), in(2)});
      case Kind::attention_backward:
        if (adds_[1] != adds_[2]) return {};
        return attention_backward(call_, {in(0), in(1), in(2)}, adds_);
      case Kind::attention_scores:
        return adds_[0] ? Kernels{} : attention_scores(call_, in(0), in(1), to(0));
      case Kind::attention_scores_backward:
        return adds_any() ? Kernels{} : attention_scores_backward(call_, in(0), in(1), in(2));
      case Kind::attention_context:
        return adds_[0] ? Kernels{} : attention_context(call_, in(0), in(1), to(0));
      case Kind::attention_context_backward:
        return adds_any() ? Kernels{} : attention_context_backward(call_, in(0), in(1), in(2));
      case Kind::softmax:
        return adds_[0] ? Kernels{} : softmax(call_, to(0));
      case Kind::softmax_backward:
        return adds_[0] ? Kernels{} : softmax_backward(in(0));
      case Kind::normalisation:
        return normalisation();
      case Kind::normalisation_backward:
        return normalisation_backward();
      case Kind::activation:
        return each(F::activate, {static_cast<std::int64_t>(operation().function)});
      case Kind::activation_backward:
        return activation_backward();
      case Kind::rotary:
        if (adds_[0]) return {};
        return rotary(in(0), call_.reads.size() > 1 ? &in(1) : nullptr, to(0));
      case Kind::rotary_backward:
        return rotary_backward(in(0), to(0), call_.writes.size() > 1 ? &to(1) : nullptr, adds_[0]);
      case Kind::dropout:
        return dropout();
      case Kind::dropout_backward:
        return each(F::drop_gradient, {}, {operation().dropout});
      case Kind::add:
        return each(F::add);
      case Kind::scale:
      case Kind::cast:
      case Kind::slice:
      case Kind::host_copy:
        return moved();
      case Kind::fill:
        return adds_[0] ? Kernels{} : each(F::fill, {}, {0});
      case Kind::embedding:
        return embedding();
      case Kind::embedding_backward:
        return embedding_backward();
      case Kind::loss_maximum:
      case Kind::loss_sum:
      case Kind::loss:
      case Kind::loss_backward:
        return losses();
      case Kind::update:
        return update();
      default:
        return {};
    }
  }

  [[nodiscard]] bool adds_any() const {
    return std::find(adds_.begin(), adds_.end(), true) != adds_.end();
  }

  /// Index by index; all operands in order.
  [[nodiscard]] Kernels each(F function, std::vector<std::int64_t> sizes = {},
                             std::vector<double> numbers = {}) const {
    LoweredKernel out{launch_of(function, to(0).elements()), {}, {}};
    out.launch.sizes = std::move(sizes);
    out.launch.numbers = std::move(numbers);
    out.launch.adds = adds_[0];
    for (std::size_t i = 0; i < call_.reads.size(); ++i) out.reads.push_back(read(i));
    for (std::size_t i = 0; i < call_.writes.size(); ++i) out.writes.push_back(written(i));
    return {out};
  }

  [[nodiscard]] Kernels normalisation() const {
    const std::int64_t width = in(0).axes.back().length();
    LoweredKernel out{launch_of(F::normalise, rows_of(in(0))), {read(0), read(1)}, {}};
    const bool biased = call_.reads.size() > 2;
    if (biased) out.reads.push_back(read(2));
    out.writes = {written(0), written(1)};
    out.launch.sizes = {width, centred() ? 1 : 0, biased ? 1 : 0};
    out.launch.numbers = {kEpsilon};
    return {out};
  }
  [[nodiscard]] bool centred() const { return operation().norm == Normalisation::layer; }

  [[nodiscard]] Kernels normalisation_backward() const {
    const std::int64_t width = in(0).axes.back().length();
    const bool biased = call_.writes.size() > 2;
    if (biased && adds_[1] != adds_[2]) return {};
    LoweredKernel input{launch_of(F::normalise_input_gradient, rows_of(in(0))),
                        {read(0), read(1), read(2), read(3)},
                        {written(0)}};
    input.launch.sizes = {width, centred() ? 1 : 0};
    input.launch.adds = adds_[0];
    LoweredKernel gain{
        launch_of(F::normalise_gain_gradient, width), {read(0), read(2), read(3)}, {written(1)}};
    if (biased) gain.writes.push_back(written(2));
    gain.launch.sizes = {width, centred() ? 1 : 0, rows_of(in(0)), biased ? 1 : 0};
    gain.launch.adds = adds_[1];
    return {input, gain};
  }

  [[nodiscard]] Kernels activation_backward() const {
    Kernels out = each(F::activate_gradient, {static_cast<std::int64_t>(operation().function)});
    const bool gated = call_.reads.size() > 2;
    if (gated && call_.writes.size() > 1 && adds_[0] != adds_[1]) return {};
    out[0].reads = {read(0), read(call_.reads.size() - 1)};
    if (gated) out[0].reads.push_back(read(1));
    return out;
  }

  [[nodiscard]] Kernels dropout() const {
    std::int64_t sample = 1;
    for (const PartAxis& axis : in(0).axes) {
      if (axis.dim != Dim::batch) sample *= axis.size;
    }
    if (adds_[0]) return {};
    Kernels out = each(F::drop, {call_.first_sample * sample}, {operation().dropout});
    out[0].launch.tables = {table_of(in(0).global_indices())};
    out[0].launch.draw = call_.draw;
    return out;
  }

  [[nodiscard]] Kernels moved() const {
    const double factor = operation().kind == Kind::scale ? operation().factor : 1;
    Kernels out = each(F::move, {}, {factor});
    const bool alike = in(0).axes == to(0).axes && in(0).is_flat == to(0).is_flat &&
                       in(0).first_flat == to(0).first_flat && in(0).flat == to(0).flat;
    TablePtr from = alike ? nullptr : table_of(places_of_common(in(0), to(0)));
    out[0].launch.tables = {nullptr, std::move(from)};
    return out;
  }

  [[nodiscard]] Kernels embedding() const {
    Kernels out = each(F::look_up, {in(1).axes.back().length(), in(1).axes.front().size});
    out[0].launch.count = call_.read(0).layout->elements() * in(1).axes.back().length();
    out[0].launch.tables = {inverse_of(in(1).axes.front())};
    return out;
  }

  [[nodiscard]] Kernels embedding_backward() const {
    const std::int64_t width = to(0).axes.back().length();
    LoweredKernel add{
        launch_of(F::look_up_gradient, in(0).elements() * width), {read(0), read(1)}, {written(0)}};
    add.launch.sizes = {width, to(0).axes.front().size};
    add.launch.tables = {inverse_of(to(0).axes.front())};
    if (adds_[0]) return {add};
    LoweredKernel zeros{launch_of(F::fill, to(0).elements()), {}, {written(0)}};
    zeros.launch.numbers = {0};
    return {zeros, add};
  }

  [[nodiscard]] Kernels losses() const {
    if (operation().kind == Kind::loss) {
      Kernels out = each(F::loss, {in(0).elements()}, {operation().factor});
      out[0].launch.count = 1;
      return out;
    }
    const PartAxis& words = in(0).axes.back();
    const bool maximum = operation().kind == Kind::loss_maximum;
    const bool gradient = operation().kind == Kind::loss_backward;
    Kernels out = each(maximum    ? F::loss_maximum
                       : gradient ? F::loss_gradient
                                  : F::loss_sum,
                       {words.length(), words.size}, {operation().factor});
    out[0].launch.count = gradient ? in(0).elements() : rows_of(in(0));
    out[0].launch.tables = {words_of(words), inverse_of(words)};
    return out;
  }
  /// Below 0 is padding; null where there is none.
  [[nodiscard]] static TablePtr words_of(const PartAxis& words) {
    const bool padded =
        std::any_of(words.at.begin(), words.at.end(), [](std::int64_t word) { return word < 0; });
    return padded ? std::make_shared<const Table>(words.at) : nullptr;
  }

  /// [gradient, (weight), states ...] -> [weight, states ...] for every weight, as the host's
  /// kernel reads them. A first state that is a copy of the weight is the one that is trained.
  [[nodiscard]] Kernels update() const {
    Kernels out;
    std::size_t reads = 0;
    for (std::size_t writes = 0; writes < call_.writes.size();) {
      out.push_back(one_weight(reads, writes));
    }
    return out;
  }

  [[nodiscard]] LoweredKernel one_weight(std::size_t& reads, std::size_t& writes) const {
    const std::size_t weight = writes++;
    const std::size_t first_state = writes;
    while (writes < call_.writes.size() &&
           call_.writes[writes].tensor->category == Category::optimizer_state) {
      ++writes;
    }
    const bool master = writes > first_state && call_.writes[first_state].tensor->copy_of;
    LoweredKernel out{launch_of(F::descend, to(weight).elements()), {read(reads++)}, {}};
    const std::size_t states = writes - first_state + (master ? 0 : 1);
    for (std::size_t i = 0; i < states; ++i) out.reads.push_back(read(reads++));
    if (!master) out.writes = {written(weight)};
    for (std::size_t i = first_state; i < writes; ++i) out.writes.push_back(written(i));
    if (master) out.writes.push_back(written(weight));
    set_rule(out.launch, master);
    return out;
  }

  void set_rule(KernelLaunch& launch, bool master) const {
    const OptimizerSettings& by = call_.optimizer;
    const bool adam = operation().optimizer == Optimizer::adam;
    const bool momentum = operation().optimizer == Optimizer::momentum;
    launch.sizes = {adam ? 2 : momentum ? 1 : 0, master ? 1 : 0};
    launch.numbers = {adam ? by.adam_learning_rate : by.learning_rate,
                      adam ? by.beta1 : by.momentum,
                      by.beta2,
                      1 - by.beta1,
                      1 - by.beta2,
                      1 - std::pow(by.beta1, call_.step),
                      1 - std::pow(by.beta2, call_.step),
                      by.epsilon};
  }

  /// The host's reference kernel.
  [[nodiscard]] LoweredKernel on_host() const {
    LoweredKernel out{launch_of(F::on_host, 1), {}, {}};
    for (std::size_t i = 0; i < call_.reads.size(); ++i) {
      out.reads.push_back(read(i));
      out.launch.sizes.push_back(in(i).elements());
    }
    for (std::size_t i = 0; i < call_.writes.size(); ++i) {
      out.writes.push_back(written(i));
      out.launch.sizes.push_back(to(i).elements());
    }
    out.launch.on_host = [shape = call_, adds = adds_](const auto& reads, auto& writes) {
      KernelCall<Real> call = shape;
      std::vector<std::vector<Real>> values;
      for (const std::vector<double>& each : reads) values.emplace_back(each.begin(), each.end());
      for (std::size_t i = 0; i < values.size(); ++i) call.reads[i].values = &values[i];
      for (KernelResult<Real>& result : call.writes) {
        result.values.assign(static_cast<std::size_t>(result.layout->elements()), 0);
      }
      run_kernel(call);
      for (std::size_t i = 0; i < writes.size(); ++i) {
        for (std::size_t k = 0; k < writes[i].size(); ++k) {
          const Real held = adds[i] ? static_cast<Real>(writes[i][k]) : Real{0};
          writes[i][k] = static_cast<double>(held + call.writes[i].values[k]);
        }
      }
    };
    return out;
  }

  /// Padding stays zero, so that it never counts in a product.
  void clear_padding(Kernels& out) const {
    if (out.front().launch.function == F::on_host) return;
    for (std::size_t i = 0; i < call_.writes.size(); ++i) {
      if (to(i).filled() == to(i).elements()) continue;
      Table places;
      const Table indices = to(i).global_indices();
      for (std::size_t k = 0; k < indices.size(); ++k) {
        if (indices[k] < 0) places.push_back(static_cast<std::int64_t>(k));
      }
      LoweredKernel clear{
          launch_of(F::clear, static_cast<std::int64_t>(places.size())), {}, {written(i)}};
      clear.launch.tables = {std::make_shared<const Table>(std::move(places))};
      out.push_back(std::move(clear));
    }
  }

  const KernelCall<Real>& call_;
  const std::vector<bool>& adds_;
};

}  // namespace

}  // namespace lowering

template <class Real>
std::vector<LoweredKernel> lower_operation(const KernelCall<Real>& call,
                                           const std::vector<bool>& adds) {
  check_kernel(call);
  return lowering::Lowering<Real>{call, adds}.run();
}

template std::vector<LoweredKernel> lower_operation(const KernelCall<float>&,
                                                    const std::vector<bool>&);
template std::vector<LoweredKernel> lower_operation(const KernelCall<double>&,
                                                    const std::vector<bool>&);

bool works_in_place(OperationKind kind) {
  switch (kind) {
    case OperationKind::update:
    case OperationKind::add:
    case OperationKind::scale:
    case OperationKind::cast:
    case OperationKind::activation:
    case OperationKind::attention:
      return true;
    default:
      return false;
  }
}

}  // namespace lockstep
