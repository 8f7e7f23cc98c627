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

/// The steps of a layout one after the other: those that average parameters, or synchronize one of
/// the fragments, and all others are kinds of their own.
template <class Real>
class Trainee {
 public:
  Trainee(const ModelConfig& model, const ParallelConfig& parallel, int gpus_per_node,
          const VerificationOptions& options, const ExecutionOptions& execution)
      : parallel_{parallel} {
    for (int kind = 0; kind <= parallel.fragments; ++kind) {
      const bool averages = kind < parallel.fragments;
      if (!averages && !(parallel.averages() && parallel.average_every > parallel.fragments)) break;
      const BuildProgramOptions how{
          .ends_with_average = averages, .fragment = kind, .checks_passes = true};
      auto program = std::make_shared<Program>(build_program(model, parallel, gpus_per_node, how));
      if (options.change) options.change(*program);
      programs_.push_back(std::move(program));
      kinds_.push_back(std::make_unique<BasicProgramExecution<Real>>(*programs_.back(), execution));
    }
  }

  double step() {
    ++steps_;
    const auto fragment = parallel_.averages() ? parallel_.synchronized_fragment(steps_) : 0;
    const auto kind = static_cast<std::size_t>(fragment.value_or(parallel_.fragments));
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
  const ParallelConfig& parallel_;
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
    const StateConfig& state = parallel_.state;
    if (state.optimizer != Optimizer::adam && !state.takes_matrices()) return;
    OptimizerSettings by = common_options().optimizer;
    // The outer momentum adds up what went into it, 1 / (1 - mu) times, and weights are no further
    // off than it is; what is wrong in one replica goes into all.
    if (parallel_.has_outer_loop()) by.adam_learning_rate *= 1 + 1 / (1 - by.outer_momentum);
    for (int replica = 0; replica < reference.replicas(); ++replica)
      for (WeightBound& bound : bounds_)
        if (parallel_.has_outer_loop() || &bound == &bounds_[static_cast<std::size_t>(replica)])
          bound.add_adam_step(reference.execution(replica), by, step);
  }

  /// Replicas that are averaged differ until then, each as one of the reference's.
  void compare_weights(Trainee<Real>& trainee, Reference<Real>& reference) {
    const Mesh& mesh = trainee.programs().front()->mesh;
    report_.weight = {};
    report_.state.reset();
    for (int replica = 0; replica < reference.replicas(); ++replica) {
      std::vector<int> ranks;
      for (int rank = 0; reference.replicas() > 1 && rank < mesh.ranks(); ++rank) {
        if (mesh.coordinate(rank, apart(mesh)) == replica) ranks.push_back(rank);
      }
      compare_weights(trainee.execution(), reference, replica, ranks);
    }
  }

  [[nodiscard]] MeshSubAxes apart(const Mesh& mesh) const {
    return mesh.axis(parallel_.has_outer_loop() ? "outer" : "dp");
  }

  void compare_weights(BasicProgramExecution<Real>& execution, Reference<Real>& reference,
                       int replica, const std::vector<int>& ranks) {
    const WeightBound& bound = bounds_[static_cast<std::size_t>(replica)];
    const auto worst = largest_difference(execution, reference.execution(replica), ranks, &bound);
    const double share = worst.value / worst.allowed;
    if (!(share < report_.weight.value / report_.weight.allowed)) {
      report_.weight = told(worst, worst.allowed);
    }
    const auto state = largest_state_difference(execution, reference.states(replica), ranks, bound);
    for (const auto& missing : {worst.missing, state.missing}) {
      if (missing.empty()) continue;
      throw ExecutionError{missing.front() + " is not all there"};
    }
    if (state.value < 0) return;
    const double part = state.value / state.allowed;
    if (!report_.state || !(part < report_.state->value / report_.state->allowed)) {
      report_.state = told(state, state.allowed);
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

  [[nodiscard]] bool averages() const { return parallel_.averages(); }

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
