#include "strategies/verification/verify_strategy.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/execute/run_program/execute_program.hpp"
#include "sim/execute/run_program/first_difference.hpp"
#include "sim/execute/run_program/weight_bound.hpp"
#include "strategies/step/build_program.hpp"
#include "strategies/step/lowering/lowering.hpp"
#include "strategies/step/simulate.hpp"
#include "strategies/verification/as_simulated.hpp"
#include "strategies/verification/dropping.hpp"
#include "strategies/verification/group_schedules.hpp"
#include "strategies/verification/reference.hpp"
#include "strategies/verification/replicate.hpp"

namespace lockstep {

namespace {

constexpr double kTolerance64 = 1e-10;  // whatever the optimizer
constexpr double kTolerance32 = 1e-5;   // with SGD
constexpr double kRate32 = 0.005;

/// The steps of a layout one after the other: parameter averaging has two kinds of them.
template <class Real>
class Trainee {
 public:
  Trainee(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node,
          const VerificationOptions& options, const ExecutionOptions& execution)
      : every_{parallel.exchange == GradientExchange::parameter_averaging ? parallel.average_every
                                                                          : 1} {
    for (const bool averages : {true, false}) {
      if (!averages && every_ == 1) break;
      const BuildProgramOptions how{.ends_with_average = averages, .checks_passes = true};
      auto program = std::make_shared<Program>(build_program(model, parallel, gpus_per_node, how));
      if (options.change) options.change(*program);
      programs_.push_back(std::move(program));
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
  /// Of a step that averages first, where only some do.
  [[nodiscard]] const std::vector<std::shared_ptr<const Program>>& programs() const {
    return programs_;
  }

 private:
  int every_;
  int steps_ = 0;
  std::size_t last_ = 0;
  std::vector<std::shared_ptr<const Program>> programs_{};
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
        schedules_{parallel.algorithms, options.stage ? &*options.stage : nullptr,
                   parallel.ranks()} {
    report_.tolerance = options_.float32 ? kTolerance32 : kTolerance64;
    if (parallel_.capacity_factor > 0) {
      parallel_.expert_skew.reset();  // bounds slots; here the routers say who is visited
      rule_ = dropping_rule(build_program(model_, parallel_, gpus_per_node_));
    }
  }

  [[nodiscard]] VerificationReport report() {
    report_.error = error_of([this] { compare(); });
    if (!report_.problem().empty() && !averages()) {
      (void)error_of([this] { find_first_wrong(); });
    }
    report_.collectives = schedules_.report();
    return std::move(report_);
  }

 private:
  /// What a piece of work has to say before its end.
  template <class Work>
  [[nodiscard]] static std::string error_of(Work&& work) {
    try {
      work();
    } catch (const ExecutionError& error) {
      return error.what();
    } catch (const InternalError& error) {  // unroll(): what is read has been written by nobody
      return error.what();
    } catch (const ProgramStuck& error) {
      return error.what();
    }
    return "";
  }

  [[nodiscard]] Trainee<Real> trainee() {
    return Trainee<Real>{model_, parallel_, gpus_per_node_, options_, trainee_options()};
  }
  [[nodiscard]] std::unique_ptr<Reference<Real>> reference(ReferenceBatch batch) const {
    return one_device<Real>(model_, single_device(model_, parallel_, batch), alone_options());
  }

  void compare() {
    Trainee<Real> trainee = this->trainee();
    report_.replicas = replicate(trainee.execution(), schedules_);
    const auto reference = averages() ? averaged_replicas<Real>(model_, parallel_, alone_options())
                                      : this->reference(ReferenceBatch::whole);
    bounds_.assign(static_cast<std::size_t>(reference->replicas()), WeightBound{report_.tolerance});
    for (int step = 1; step <= options_.steps; ++step) {
      VerifiedTrainingStep losses;
      losses.reference = reference->step();
      losses.loss = trainee.step();
      report_.steps.push_back(losses);
      report_.operations += trainee.execution().operations();
      widen_bounds(*reference, step);
      compare_weights(trainee, *reference);
      if (report_.first_wrong.empty() && !report_.weight.is_allowed()) {
        report_.first_wrong = fmt::format("after step {} {}", step, text_of(report_.weight));
      }
      if (options_.after_step) options_.after_step();
    }
    if (averages()) compare_with_one_device(trainee.execution());
    if (!options_.stage || options_.device != nullptr || !report_.problem().empty()) return;
    for (const auto& program : trainee.programs()) compare_as_simulated(program);
  }

  void compare_as_simulated(const std::shared_ptr<const Program>& program) {
    const VerifiedOrder order = verify_as_simulated<Real>(program, parallel_, *options_.stage,
                                                          trainee_options(), report_.tolerance);
    if (!report_.order || report_.order->problem.empty()) report_.order = order;
  }

  /// Once more, compared with a reference with the same microbatches, until an operation writes
  /// something else than the reference has.
  void find_first_wrong() {
    Trainee<Real> trainee = this->trainee();
    const auto alike = reference(ReferenceBatch::alike);
    for (int step = 1; step <= options_.steps; ++step) {
      (void)alike->step();
      const std::string error = error_of([&] { (void)trainee.step(); });
      // What had been written until an error says where it began.
      const auto wrong =
          first_difference(trainee.execution(), alike->execution(0), report_.tolerance);
      if (wrong) report_.first_wrong = wrong->text();
      if (wrong || !error.empty()) return;
    }
  }

  /// By what Adam makes of rounding.
  void widen_bounds(Reference<Real>& reference, int step) {
    if (parallel_.state.optimizer != Optimizer::adam) return;
    for (int replica = 0; replica < reference.replicas(); ++replica) {
      bounds_[static_cast<std::size_t>(replica)].add_adam_step(reference.execution(replica),
                                                               common_options().optimizer, step);
    }
  }

  /// Replicas that are averaged differ until then, each as one of the reference's.
  void compare_weights(Trainee<Real>& trainee, Reference<Real>& reference) {
    const Mesh& mesh = trainee.programs().front()->mesh;
    report_.weight = {};
    report_.state.reset();
    for (int replica = 0; replica < reference.replicas(); ++replica) {
      std::vector<int> ranks;
      for (int rank = 0; reference.replicas() > 1 && rank < mesh.ranks(); ++rank) {
        if (mesh.coordinate(rank, mesh.axis("dp")) == replica) ranks.push_back(rank);
      }
      compare_weights(trainee.execution(), reference.execution(replica), ranks,
                      bounds_[static_cast<std::size_t>(replica)]);
    }
  }

  void compare_weights(BasicProgramExecution<Real>& execution,
                       BasicProgramExecution<Real>& reference, const std::vector<int>& ranks,
                       const WeightBound& bound) {
    const auto worst = largest_difference(execution, reference, ranks, &bound);
    const double share = worst.value / worst.allowed;
    if (!(share < report_.weight.value / report_.weight.allowed)) {
      report_.weight = told(worst, worst.allowed);
    }
    const auto state = largest_state_difference(execution, reference, ranks);
    for (const auto& missing : {worst.missing, state.missing}) {
      if (missing.empty()) continue;
      throw ExecutionError{missing.front() + " is not all there"};
    }
    if (state.value < 0) return;
    if (!report_.state || !(state.value < report_.state->value)) {
      report_.state = told(state, report_.tolerance);
    }
  }

  template <class Difference>
  [[nodiscard]] VerifiedDifference told(const Difference& of, double allowed) const {
    const int ranks = parallel_.ranks();
    const bool host = of.where.rank >= ranks;
    return {of.value,
            allowed,
            of.where.name,
            of.where.copy,
            of.where.position,
            of.where.rank,
            fmt::format("{} {}", host ? "host" : "rank", of.where.rank - (host ? ranks : 0)),
            of.index};
  }

  void compare_with_one_device(BasicProgramExecution<Real>& execution) {
    const auto alone = reference(ReferenceBatch::whole);
    for (int step = 0; step < options_.steps; ++step) (void)alone->step();
    report_.from_one_device = largest_difference(execution, alone->execution(0)).value;
  }

  [[nodiscard]] bool averages() const {
    return parallel_.exchange == GradientExchange::parameter_averaging;
  }

  [[nodiscard]] ExecutionOptions trainee_options() {
    ExecutionOptions out = common_options();
    out.order_seed = options_.order_seed;
    out.revise = options_.revise;
    out.device = options_.device;
    out.devices = options_.devices;
    if (rule_) out.expert_slots = 0;
    out.schedule_of = [this](const RoleProgram& role, const RoleOperation& operation,
                             const std::vector<int>& members, int root) {
      return schedules_.of(*operation.operation->communication, members, root,
                           message_of(role, operation));
    };
    return out;
  }

  [[nodiscard]] ExecutionOptions alone_options() const {
    ExecutionOptions out = common_options();
    if (rule_) out.dropping = &*rule_;
    return out;
  }

  /// Batch norm over few pixels makes much of rounding: small steps keep it small.
  [[nodiscard]] ExecutionOptions common_options() const {
    ExecutionOptions out;
    out.seed = options_.seed;
    if (options_.float32) out.optimizer.learning_rate = kRate32;
    return out;
  }

  ModelConfig model_;
  ParallelConfig parallel_;
  int gpus_per_node_;
  const VerificationOptions& options_;
  GroupSchedules schedules_;
  std::optional<DroppingRule> rule_{};
  std::vector<WeightBound> bounds_{};  // of each replica of the reference
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
