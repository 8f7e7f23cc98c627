#include "sim/cost/roofline.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/cost/attention_time.hpp"
#include "sim/cost/gemm_time.hpp"
#include "sim/cost/seconds.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;
using Class = OperationClass;

bool costs_nothing(const Kernel& kernel) {
  return kernel.fused_away || kernel.of == Class::communication || kernel.of == Class::copy;
}

/// The next wider precision, in which a device computes what it has no units for.
Dtype wider(Dtype dtype) {
  if (dtype == Dtype::nvfp4) return Dtype::fp8_block;
  if (dtype == Dtype::fp8_block) return Dtype::fp8;
  if (dtype == Dtype::fp8) return Dtype::fp16;
  return dtype == Dtype::fp32 ? Dtype::fp64 : Dtype::fp32;
}

/// `math`, or the next wider precision that has a value. Errors: InternalError where none has.
template <class Values>
std::size_t precision_with(const Values& values, Dtype math) {
  for (int tries = 0; tries < 6; ++tries, math = wider(math)) {
    const auto index = static_cast<std::size_t>(math);
    if (values[index]) return index;
  }
  LOCKSTEP_CHECK(false && "a device has a peak of some precision");
  return 0;
}

template <class Values>
const auto& of_precision(const Values& values, Dtype math) {
  return *values[precision_with(values, math)];
}

GemmShape shape_of(const Kernel& kernel) {
  return {kernel.batches, kernel.m, kernel.n, kernel.k, kernel.over_tokens};
}

/// Products in 8 bits have results of 16.
double bytes_of_result(const Kernel& kernel) {
  return static_cast<double>(kernel.batches) * static_cast<double>(kernel.m) *
         static_cast<double>(kernel.n) *
         static_cast<double>(std::max<std::int64_t>(2, bytes_per_element(kernel.math)));
}

GemmShape shape_of(const SeriesGemm& gemm) {
  return {gemm.batches, gemm.m, gemm.n, gemm.k};
}

/// Operands and result of one GEMM of a series.
double bytes_of(const SeriesGemm& gemm, Dtype math) {
  const double elements = static_cast<double>(gemm.m * gemm.k + gemm.k * gemm.n + gemm.m * gemm.n);
  return static_cast<double>(gemm.batches) * elements *
         static_cast<double>(bytes_per_element(math));
}

/// A cast that is nothing but that of operands.
bool casts_operands(const Kernel& kernel) {
  return row_of(kernel.kind).work == WorkRule::cast && kernel.cast_bytes > 0;
}

const KindFigures& bias_of(const Kernel& kernel, const DeviceModel& model) {
  return kernel.read_elementwise && model.joined_bias ? *model.joined_bias : model.bias;
}

/// Kernels launched in addition to an operation's own.
double kernels_beside(const Kernel& kernel, const DeviceModel& model) {
  return (kernel.bias ? bias_of(kernel, model).kernels : 0) + kernel.cast_kernels +
         (kernel.gradient_bytes > 0 ? model.gradient_sum.kernels : 0);
}

}  // namespace

Roofline::Roofline(DeviceModel model) : model_{std::move(model)} {
  LOCKSTEP_CHECK(model_.multiprocessors > 0);
  LOCKSTEP_CHECK(model_.slowdown_while_communicating >= 1);
}

const KindFigures& Roofline::figures_of(const Kernel& kernel) const {
  const bool joined = kernel.kind == Kind::dropout && kernel.read_elementwise;
  if (joined && model_.joined_dropout) return *model_.joined_dropout;
  return model_.kinds[static_cast<std::size_t>(kernel.kind)];
}

Duration Roofline::time(const Kernel& kernel) const {
  if (costs_nothing(kernel)) return {};
  const bool waits = model_.host_waits_for == HostWait::kernels;
  return rounded(seconds(kernel) + (waits ? issuing(kernel) : 0));
}

Duration Roofline::host_time(const Kernel& kernel) const {
  const bool waits = model_.host_waits_for == HostWait::kernels;
  if (waits && !costs_nothing(kernel)) return {};  // is in the kernel's time
  return rounded(issuing(kernel));
}

double Roofline::issuing(const Kernel& kernel) const {
  if (kernel.fused_away || kernel.of == Class::copy) return 0;
  double own = casts_operands(kernel) ? 0 : figures_of(kernel).kernels;
  if (!kernel.series.empty()) own = 0;
  for (const SeriesGemm& gemm : kernel.series) own += gemm.times;
  const double kernels = own + kernels_beside(kernel, model_);
  return kernels * model_.host_time.seconds();
}

double Roofline::seconds(const Kernel& kernel) const {
  switch (row_of(kernel.kind).work) {
    case WorkRule::gemm:
      return gemm(kernel);
    case WorkRule::attention:
      return attention(kernel);
    case WorkRule::unfused_attention:
      return unfused_attention(kernel);
    case WorkRule::convolution:
      return convolution(kernel);
    case WorkRule::gemm_series:
      return series(kernel);
    default:
      return moving(kernel);
  }
}

double Roofline::products(const Kernel& kernel, const GemmShape& shape) const {
  return gemm_seconds(shape, of_precision(model_.gemms, kernel.math),
                      of_precision(model_.peaks, kernel.math), model_.multiprocessors,
                      model_.memory_bandwidth.bytes_per_second());
}

double Roofline::computing(const Kernel& kernel) const {
  switch (row_of(kernel.kind).work) {
    case WorkRule::gemm: {
      const Share rate =
          kernel.backward ? of_precision(model_.gemms, kernel.math).backward_rate : 1;
      return products(kernel, shape_of(kernel)) * model_.slowest / rate;
    }
    case WorkRule::attention:
      return attention_seconds(kernel, model_.attention, of_precision(model_.peaks, kernel.math),
                               model_.multiprocessors) *
             model_.slowest;
    case WorkRule::unfused_attention:
      return unfused_products(kernel) * model_.slowest;
    case WorkRule::convolution:
      return products(kernel, shape_of(kernel)) * model_.slowest / model_.convolution_efficiency;
    case WorkRule::gemm_series: {
      double out = 0;
      for (const SeriesGemm& gemm : kernel.series)
        out += gemm.times * products(kernel, shape_of(gemm)) * model_.slowest;
      return out;
    }
    default:
      return 0;
  }
}

Basis Roofline::basis(const Kernel& kernel) const {
  if (!model_.basis) return {};
  const WorkRule work = row_of(kernel.kind).work;
  const double traffic =
      work == WorkRule::unfused_attention
          ? moved_by(figures_of(kernel),
                     std::min(1.0, figures_of(kernel).traffic) * kernel.moved_bytes, kernel.of)
          : moved(kernel.moved_bytes, kernel.of);
  const double computed = computing(kernel);
  return computed > 0 && computed >= traffic ? basis_of_computing(kernel) : basis_of_moving(kernel);
}

Basis Roofline::basis_of_computing(const Kernel& kernel) const {
  const DeviceBasis& of = *model_.basis;
  const WorkRule work = row_of(kernel.kind).work;
  const Basis& gemm = of.gemms[precision_with(model_.gemms, kernel.math)];
  const Basis& efficiency = work == WorkRule::attention     ? of.attention
                            : work == WorkRule::convolution ? weaker(gemm, of.convolution)
                                                            : gemm;
  return basis_of_rate(of.peaks[precision_with(model_.peaks, kernel.math)], efficiency);
}

Basis Roofline::basis_of_moving(const Kernel& kernel) const {
  const DeviceBasis& of = *model_.basis;
  const KindFigures& kind = figures_of(kernel);
  const Class in = casts_operands(kernel) ? Class::elementwise : kernel.of;
  const Basis& own = of.kinds[static_cast<std::size_t>(kernel.kind)];
  const double bytes = kind.traffic * kernel.moved_bytes;
  const double moving = moved_by(kind, bytes, in);
  if (kind.kernels * model_.launch.seconds() > moving) return of.launch;
  if (moving > moved(bytes, in)) return own;
  return weaker(of.memory[static_cast<std::size_t>(in)], own);
}

double Roofline::moved(double bytes, OperationClass of) const {
  return bytes / (model_.memory_bandwidth.bytes_per_second() *
                  model_.memory_efficiency[static_cast<std::size_t>(of)]);
}

double Roofline::moved_by(const KindFigures& figures, double bytes, OperationClass of) const {
  const double memory = moved(bytes, of);
  if (!figures.multiprocessor_rate) return memory;
  return std::max(memory, bytes / (figures.multiprocessor_rate->bytes_per_second() *
                                   static_cast<double>(model_.multiprocessors)));
}

double Roofline::gemm(const Kernel& kernel) const {
  const GemmParameters& figures = of_precision(model_.gemms, kernel.math);
  double out =
      figures.launch.seconds() + std::max(computing(kernel), moved(kernel.moved_bytes, kernel.of));
  if (kernel.bias) out += additional_kernels(bias_of(kernel, model_), 2 * bytes_of_result(kernel));
  out += casting(kernel);
  if (kernel.gradient_bytes > 0) {
    out += additional_kernels(model_.gradient_sum, kernel.gradient_bytes);
    if (model_.gradient_sum.kernels == 0) out += adding_to_sum(kernel, figures);
  }
  return out;
}

/// A GEMM that adds to a gradient reads it, too, and may write more than 16 bits.
double Roofline::adding_to_sum(const Kernel& kernel, const GemmParameters& figures) const {
  const double more = 2 * kernel.gradient_bytes - bytes_of_result(kernel);
  return figures.exposed_results * moved(std::max(0.0, more), kernel.of);
}

double Roofline::additional_kernels(const KindFigures& figures, double amount) const {
  return figures.kernels * model_.launch.seconds() +
         moved_by(figures, figures.traffic * amount, Class::elementwise);
}

double Roofline::casting(const Kernel& kernel) const {
  return kernel.cast_kernels * model_.launch.seconds() +
         moved(kernel.cast_bytes, Class::elementwise);
}

double Roofline::convolution(const Kernel& kernel) const {
  const GemmParameters& figures = of_precision(model_.gemms, kernel.math);
  return figures.launch.seconds() +
         std::max(computing(kernel), moved(kernel.moved_bytes, kernel.of));
}

double Roofline::series(const Kernel& kernel) const {
  const double launch = of_precision(model_.gemms, kernel.math).launch.seconds();
  double out = 0;
  for (const SeriesGemm& gemm : kernel.series) {
    const double computed = products(kernel, shape_of(gemm)) * model_.slowest;
    out += gemm.times *
           (launch + std::max(computed, moved(bytes_of(gemm, kernel.math), Class::matmul)));
  }
  return out;
}

double Roofline::attention(const Kernel& kernel) const {
  const KindFigures& kind = figures_of(kernel);
  const double further = std::max(0.0, kind.traffic - 1) * kernel.moved_bytes;
  return kind.kernels * model_.attention.launch.seconds() +
         moved_by(kind, further, Class::elementwise) +
         std::max(computing(kernel), moved(kernel.moved_bytes, kernel.of));
}

/// Products of the scores' shape (queries * keys, deep as a head) or that reduce over keys.
double Roofline::unfused_products(const Kernel& kernel) const {
  const GemmShape scores{kernel.batches, kernel.m, kernel.n, kernel.k};
  const GemmShape over_keys{kernel.batches, kernel.m, kernel.k, kernel.n};
  const GemmShape over_queries{kernel.batches, kernel.n, kernel.k, kernel.m};
  const auto one = [&](const GemmShape& shape) { return products(kernel, shape); };
  double out = 0;
  if (kernel.kind == Kind::attention_scores) out = one(scores);
  if (kernel.kind == Kind::attention_scores_backward) out = one(over_keys) + one(over_queries);
  if (kernel.kind == Kind::attention_context) out = one(over_keys);
  if (kernel.kind == Kind::attention_context_backward) out = one(scores) + one(over_queries);
  return out;
}

double Roofline::unfused_attention(const Kernel& kernel) const {
  const GemmParameters& figures = of_precision(model_.gemms, kernel.math);
  const KindFigures& kind = figures_of(kernel);
  const double further = std::max(0.0, kind.traffic - 1) * kernel.moved_bytes;
  const double own = std::min(1.0, kind.traffic) * kernel.moved_bytes;
  return kind.kernels * figures.launch.seconds() + moved_by(kind, further, Class::elementwise) +
         std::max(computing(kernel), moved_by(kind, own, kernel.of));
}

double Roofline::moving(const Kernel& kernel) const {
  if (casts_operands(kernel)) return casting(kernel);
  const KindFigures& kind = figures_of(kernel);
  return kind.kernels * model_.launch.seconds() +
         moved_by(kind, kind.traffic * kernel.moved_bytes, kernel.of);
}

}  // namespace lockstep
