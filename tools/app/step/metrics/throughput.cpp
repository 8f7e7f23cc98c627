#include "tools/app/step/metrics/throughput.hpp"

#include <map>
#include <utility>

#include "sim/program/kernel/attention_loads.hpp"
#include "sim/program/kernel/kernel.hpp"
#include "sim/program/kernel/kernel_attention.hpp"
#include "strategies/models/count/count.hpp"
#include "strategies/stacks/cost_of.hpp"

namespace lockstep::app {

namespace {

/// The mean rank's, not the busiest one's: of experts `factor` times as much comes to that one, of
/// plain causal runs of a sequence the last rank attends to all before it.
double flops_of(const Program& program, const Routine& routine) {
  double sum = 0;
  for (std::size_t i = 0; i < routine.operations.size(); ++i) {
    const Operation& operation = routine.operations[i];
    if (AttentionLoads::of(program, operation)) continue;
    const double busiest = operation.kind == OperationKind::matmul ? operation.factor : 1;
    sum += kernel_of(program, routine, i).flops / busiest * mean_over_busiest(program, operation);
  }
  return sum;
}

/// The mean rank's of attention over documents, which microbatches need not have in common.
class DocumentFlops {
 public:
  explicit DocumentFlops(const Program& program)
      : program_{program}, any_(program.routines.size()) {
    for (std::size_t i = 0; i < any_.size(); ++i)
      for (const Operation& operation : program.routines[i].operations)
        any_[i] = any_[i] || AttentionLoads::of(program, operation);
  }

  [[nodiscard]] double of(const Call& call) {
    if (!any_[call.routine]) return 0;
    const auto [found, is_new] = known_.try_emplace({call.routine, call.microbatch}, 0);
    if (is_new) found->second = count(program_.routines[call.routine], call.microbatch);
    return found->second;
  }

 private:
  [[nodiscard]] double count(const Routine& routine, int microbatch) const {
    double sum = 0;
    for (std::size_t i = 0; i < routine.operations.size(); ++i) {
      const auto loads = AttentionLoads::of(program_, routine.operations[i]);
      if (!loads) continue;
      for (const MaskedAttention& each : loads->loads(microbatch))
        sum += kernel_of(program_, routine, i, each).flops / loads->places();
    }
    return sum;
  }

  const Program& program_;
  std::vector<bool> any_;  // per routine
  std::map<std::pair<RoutineId, int>, double> known_;
};

/// How many ranks play a role.
int players(const Program& program, const Role& role) {
  int ranks = program.mesh.ranks();
  for (const auto& [atom, coordinate] : role.fixed) ranks /= program.mesh.atoms()[atom].size;
  return ranks;
}

std::pair<std::optional<FlopRate>, std::string> peak_of(const Device& device, Dtype precision) {
  const Precision of = peak_precision(precision);
  return {device.peak(of), std::string{kPrecisionNames.at(static_cast<std::size_t>(of))}};
}

void add_budget(const Scenario& scenario, Throughput& out) {
  if (!scenario.samples) return;
  const double per_second = out.tokens_per_s.value_or(out.samples_per_s);
  out.training_s = *scenario.samples / per_second;
  out.gpu_hours = *out.training_s * scenario.parallel.ranks() / 3600;
  if (!scenario.model.reads_text()) return;
  const auto parameters = static_cast<double>(count_parameters(scenario.model).active());
  out.six_n_d = six_n_d(parameters, *scenario.samples);
  const int ranks = scenario.parallel.ranks();
  const double rate =
      scenario.sustained ? scenario.sustained->per_second() : out.model_flops_per_gpu;
  out.six_n_d_s = *out.six_n_d / (rate * ranks);
}

}  // namespace

std::optional<double> Throughput::mfu() const {
  if (!peak_per_gpu) return std::nullopt;
  return model_flops_per_gpu / *peak_per_gpu;
}

std::optional<double> Throughput::bf16_mfu() const {
  if (!bf16_peak_per_gpu) return std::nullopt;
  return model_flops_per_gpu / *bf16_peak_per_gpu;
}

std::optional<double> Throughput::hfu() const {
  if (!peak_per_gpu || model_flops <= 0) return std::nullopt;
  return *mfu() * hardware_flops / model_flops;
}

double hardware_flops(const Program& program) {
  std::vector<double> flops;
  for (const Routine& routine : program.routines) flops.push_back(flops_of(program, routine));
  DocumentFlops documents{program};
  double sum = 0;
  for (const Role& role : program.roles) {
    if (role.host) continue;
    double of_role = 0;
    for (const Call& call : role.calls) of_role += flops[call.routine] + documents.of(call);
    sum += of_role * players(program, role);
  }
  return sum;
}

FlopConvention flop_convention(const ParallelConfig& parallel) {
  FlopConvention out{.sequences = parallel.global_batch};
  if (parallel.capacity_factor > 0) out.admitted = std::min(1.0, parallel.capacity_factor);
  return out;
}

Throughput throughput_of(const Scenario& scenario, const Program& program, Duration step) {
  const ParallelConfig& parallel = scenario.parallel;
  const FlopCount count = count_flops(scenario.model, flop_convention(parallel));
  const auto batch = static_cast<double>(parallel.global_batch);
  Throughput out;
  out.step = step;
  out.step_s = step.seconds();
  out.samples_per_s = batch / out.step_s;
  out.sample = sample_name(scenario.model);
  if (scenario.model.reads_text())
    out.tokens_per_s = out.samples_per_s * static_cast<double>(count.tokens);
  out.model_flops = count.training() * batch;
  out.hardware_flops = hardware_flops(program);
  out.model_flops_per_gpu = out.model_flops / out.step_s / parallel.ranks();
  const auto [peak, name] = peak_of(scenario.cluster.device, parallel.precision);
  out.precision = name;
  if (is_narrow(parallel.precision)) {
    const auto wide = scenario.cluster.device.peak(Precision::kBf16);
    if (wide) out.bf16_peak_per_gpu = wide->per_second();
  }
  if (peak) out.peak_per_gpu = peak->per_second();
  out.convention = count.convention;
  add_budget(scenario, out);
  return out;
}

}  // namespace lockstep::app
