#include "strategies/verification/verify_strategy.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "sim/check.hpp"
#include "sim/execute/host/program/execute_program.hpp"
#include "sim/execute/host/program/first_difference.hpp"
#include "strategies/training/build_program.hpp"
#include "strategies/training/simulate.hpp"
#include "strategies/verification/as_simulated.hpp"
#include "strategies/verification/dropping.hpp"
#include "strategies/verification/group_schedules.hpp"
#include "strategies/verification/reference.hpp"
#include "strategies/verification/replicate.hpp"

namespace lockstep {

namespace {

constexpr double kTolerance64 = 1e-10;  // whatever the optimizer
constexpr double kTolerance32 = 1e-5;   // with SGD

/// The steps of a plan one after the other: parameter averaging has two kinds of them.
template <class Real>
class Trainee {
 public:
  Trainee(const ModelConfig& model, ParallelConfig parallel, int gpus_per_node,
          const VerificationOptions& options, const ExecutionOptions& execution)
      : every_{parallel.exchange == GradientExchange::parameter_averaging ? parallel.average_every
                                                                          : 1} {
    for (const bool averages : {true, false}) {
      if (!averages && every_ == 1) break;
      parallel.averages = averages;
      programs_.push_back(std::make_unique<Program>(build_program(model, parallel, gpus_per_node)));
      if (options.change) options.change(*programs_.back());
      kinds_.push_back(std::make_unique<BasicProgramExecution<Real>>(*programs_.back(), execution));
    }
  }

  double step() {
    const std::size_t kind = ++steps_ % every_ == 0 ? 0U : 1U;
    if (kind != last_) kinds_[kind]->take_over(*kinds_[last_]);
    last_ = kind;
    return kinds_[kind]->step();
  }

  /// That did the last step.
  [[nodiscard]] BasicProgramExecution<Real>& execution() { return *kinds_[last_]; }
  /// Of a step that averages, where only some do.
  [[nodiscard]] std::shared_ptr<const Program> program() const { return programs_.front(); }

 private:
  int every_;
  int steps_ = 0;
  std::size_t last_ = 0;
  std::vector<std::shared_ptr<Program>> programs_{};
  std::vector<std::unique_ptr<BasicProgramExecution<Real>>> kinds_{};
};

template <class Real>
class Verification {
 public:
  Verification(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node,
               const VerificationOptions& options)
      : model_{model},
        parallel_{parallel},
        gpus_per_node_{gpus_per_node},
        options_{options},
        schedules_{parallel.algorithms} {
    if (parallel_.capacity_factor > 0) {
      rule_ = dropping_rule(build_program(model_, parallel_, gpus_per_node_));
    }
  }

  [[nodiscard]] VerificationReport report() {
    report_.tolerance = options_.float32 ? kTolerance32 : kTolerance64;
    try {
      compare();
    } catch (const ExecutionError& error) {
      report_.error = error.what();
    } catch (const InternalError& error) {  // unroll(): what is read has been written by nobody
      report_.error = error.what();
    } catch (const ProgramStuck& error) {
      report_.error = error.what();
    }
    report_.collectives = schedules_.report();
    return std::move(report_);
  }

 private:
  void compare() {
    Trainee<Real> trainee{model_, parallel_, gpus_per_node_, options_, trainee_options()};
    report_.replicas = replicate(trainee.execution(), schedules_);
    const auto reference = averages() ? averaged_replicas<Real>(model_, parallel_, alone_options())
                                      : one_device<Real>(model_, parallel_, alone_options());
    for (int step = 0; step < options_.steps; ++step) {
      VerifiedStep losses;
      losses.reference = reference->step();
      try {
        losses.loss = trainee.step();
      } catch (const ExecutionError&) {  // what has been written until then says where it began
        find_first_wrong(trainee.execution(), reference->execution(0));
        throw;
      }
      report_.steps.push_back(losses);
      report_.operations += trainee.execution().operations();
      find_first_wrong(trainee.execution(), reference->execution(0));
      compare_weights(trainee, *reference);
      if (report_.first_wrong.empty() && !(report_.weight.value <= report_.tolerance)) {
        report_.first_wrong =
            fmt::format("after step {} {}", step + 1, text_of(report_.weight, report_.tolerance));
      }
    }
    if (averages()) compare_with_one_device(trainee.execution());
    if (options_.nccl_tuning.empty() || !report_.problem().empty()) return;
    report_.order =
        verify_as_simulated(trainee.program(), parallel_, trainee_options(), options_.nccl_tuning,
                            report_.steps.front(), report_.tolerance);
  }

  void find_first_wrong(BasicProgramExecution<Real>& execution,
                        BasicProgramExecution<Real>& reference) {
    if (!report_.first_wrong.empty() || averages()) return;  // replicas are of part of the batch
    const auto wrong = first_difference(execution, reference, report_.tolerance);
    if (wrong) report_.first_wrong = wrong->text();
  }

  /// Replicas that are averaged differ until then, each as one of the reference's.
  void compare_weights(Trainee<Real>& trainee, Reference<Real>& reference) {
    const Mesh& mesh = trainee.program()->mesh;
    report_.weight = {};
    report_.state.reset();
    for (int replica = 0; replica < reference.replicas(); ++replica) {
      std::vector<int> ranks;
      for (int rank = 0; reference.replicas() > 1 && rank < mesh.ranks(); ++rank) {
        if (mesh.coordinate(rank, mesh.axis("dp")) == replica) ranks.push_back(rank);
      }
      compare_weights(trainee.execution(), reference.execution(replica), ranks);
    }
  }

  void compare_weights(BasicProgramExecution<Real>& execution,
                       BasicProgramExecution<Real>& reference, const std::vector<int>& ranks) {
    const auto worst = largest_difference(execution, reference, ranks);
    if (!(worst.value < report_.weight.value)) report_.weight = told(worst);
    if (report_.error.empty() && !worst.missing.empty()) {
      report_.error = worst.missing.front() + " is not all there";
    }
    const auto state = largest_state_difference(execution, reference, ranks);
    if (state.value < 0) return;
    if (!report_.state || !(state.value < report_.state->value)) report_.state = told(state);
  }

  template <class Difference>
  [[nodiscard]] static VerifiedDifference told(const Difference& of) {
    return {of.value, of.where.name, of.where.copy, of.where.position, of.where.rank, of.index};
  }

  void compare_with_one_device(BasicProgramExecution<Real>& execution) {
    const auto alone = one_device<Real>(model_, parallel_, alone_options());
    for (int step = 0; step < options_.steps; ++step) (void)alone->step();
    report_.from_one_device = largest_difference(execution, alone->execution(0)).value;
  }

  [[nodiscard]] bool averages() const {
    return parallel_.exchange == GradientExchange::parameter_averaging;
  }

  [[nodiscard]] ExecutionOptions trainee_options() {
    ExecutionOptions out;
    out.seed = options_.seed;
    out.order_seed = options_.order_seed;
    out.revise = options_.revise;
    if (rule_) out.expert_slots = 0;
    out.schedule_of = [this](const Communication& how, int members, int root) {
      return schedules_.of(how, members, root);
    };
    return out;
  }

  [[nodiscard]] ExecutionOptions alone_options() const {
    ExecutionOptions out;
    out.seed = options_.seed;
    if (rule_) out.dropping = &*rule_;
    return out;
  }

  ModelConfig model_;
  ParallelConfig parallel_;
  int gpus_per_node_;
  const VerificationOptions& options_;
  GroupSchedules schedules_;
  std::optional<DroppingRule> rule_{};
  VerificationReport report_{};
};

}  // namespace

VerificationReport verify_strategy(const ModelConfig& model, const ParallelConfig& parallel,
                                   int gpus_per_node, const VerificationOptions& options) {
  if (!options.float32) {
    return Verification<double>{model, parallel, gpus_per_node, options}.report();
  }
  ParallelConfig plain = parallel;
  plain.state.optimizer = Optimizer::sgd;
  return Verification<float>{model, plain, gpus_per_node, options}.report();
}

}  // namespace lockstep
