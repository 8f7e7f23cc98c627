#include "strategies/verification/reference.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "strategies/step/build_program.hpp"

namespace lockstep {

namespace {

constexpr int kGpusPerNode = 8;  // of no account on one device

template <class Real>
class OneDevice final : public Reference<Real> {
 public:
  OneDevice(Program program, const ExecutionOptions& options)
      : program_{std::move(program)}, execution_{program_, options} {}

  double step() override { return execution_.step(); }
  [[nodiscard]] BasicProgramExecution<Real>& execution(int /*replica*/) override {
    return execution_;
  }

 private:
  Program program_;
  BasicProgramExecution<Real> execution_;
};

/// The samples of one replica: of every microbatch its share, which is `parts` of the reference's.
[[nodiscard]] SampleOf share_of(int replica, int replicas, int parts) {
  return [=](int microbatch, std::int64_t index, std::int64_t batch) {
    const std::int64_t share = std::int64_t{microbatch} / parts * replicas + replica;
    return (share * parts + microbatch % parts) * batch + index;
  };
}

template <class Real>
class Replicas final : public Reference<Real> {
 public:
  /// `parts`: microbatches of a reference for each of the layout's.
  Replicas(Program program, const ParallelConfig& of, int parts, ExecutionOptions options)
      : program_{std::move(program)}, of_{of}, optimizer_{options.optimizer} {
    const int replicas = of.has_outer_loop() ? of.outer_degree() : of.dp;
    for (int replica = 0; replica < replicas; ++replica) {
      options.sample_of = share_of(replica, replicas, parts);
      replicas_.push_back(std::make_unique<BasicProgramExecution<Real>>(program_, options));
    }
    if (!of.has_outer_loop()) return;
    for (const BasicHeldWeight<Real>& weight : replicas_.front()->weights()) {
      if (weight.copy != weight.name) continue;
      outer_[{weight.name, weight.position}] = {
          *weight.values, std::vector<Real>(weight.values->size()), {}};
    }
  }

  double step() override {
    const auto fragment = of_.synchronized_fragment(++steps_);
    const bool travels = of_.has_outer_loop() && of_.overlaps(Overlap::outer);
    if (fragment && travels) find_outer_gradients(*fragment);
    double loss = 0;
    for (const auto& replica : replicas_) loss += replica->step();
    if (fragment && of_.has_outer_loop()) {
      if (!travels) find_outer_gradients(*fragment);
      take_outer_step(*fragment);
    } else if (fragment) {
      average();
    }
    return loss / static_cast<double>(replicas_.size());
  }

  [[nodiscard]] int replicas() const override { return static_cast<int>(replicas_.size()); }
  [[nodiscard]] BasicProgramExecution<Real>& execution(int replica) override {
    return *replicas_.at(static_cast<std::size_t>(replica));
  }
  [[nodiscard]] std::vector<BasicHeldWeight<Real>> states(int replica) override {
    auto out = execution(replica).states();
    for (auto& [key, outer] : outer_) {
      const std::string name = key.first + ".outer";
      const std::string momentum = key.first + ".outer_momentum";
      out.push_back({0, name, name, key.second, nullptr, &outer.weight});
      out.push_back({0, momentum, momentum, key.second, nullptr, &outer.momentum});
    }
    return out;
  }

 private:
  /// A weight of the outer loop.
  struct OuterWeight {
    std::vector<Real> weight;
    std::vector<Real> momentum;
    std::vector<Real> gradient;
  };

  /// Calls `visit(outer weight, replica's copy)` for all weights of a fragment.
  template <class Visit>
  void each_of(int fragment, Visit&& visit) {
    for (const auto& replica : replicas_)
      for (const BasicHeldWeight<Real>& held : replica->weights())
        if (held.position % of_.fragments == fragment)
          visit(outer_.at({held.name, held.position}), held);
  }

  /// The mean over the replicas of what each weight was at the last outer step less what it is.
  void find_outer_gradients(int fragment) {
    for (auto& [key, outer] : outer_) outer.gradient.assign(outer.weight.size(), 0);
    each_of(fragment, [this](OuterWeight& outer, const BasicHeldWeight<Real>& held) {
      if (held.copy != held.name) return;
      for (std::size_t i = 0; i < outer.weight.size(); ++i)
        outer.gradient[i] +=
            (outer.weight[i] - (*held.values)[i]) / static_cast<Real>(replicas_.size());
    });
  }

  /// SGD with Nesterov momentum as PyTorch's: m = mu m + g, w -= eta (g + mu m).
  void take_outer_step(int fragment) {
    const auto rate = static_cast<Real>(optimizer_.outer_learning_rate);
    const auto mu = static_cast<Real>(optimizer_.outer_momentum);
    for (auto& [key, outer] : outer_) {
      if (key.second % of_.fragments != fragment) continue;
      for (std::size_t i = 0; i < outer.weight.size(); ++i) {
        outer.momentum[i] = mu * outer.momentum[i] + outer.gradient[i];
        outer.weight[i] -= rate * (outer.gradient[i] + mu * outer.momentum[i]);
      }
    }
    each_of(fragment, [](OuterWeight& outer, const BasicHeldWeight<Real>& held) {
      *held.values = outer.weight;
    });
  }

  /// The mean of every weight, put back into all replicas.
  void average() {
    std::vector<decltype(replicas_.front()->weights())> held;
    for (const auto& replica : replicas_) held.push_back(replica->weights());
    for (std::size_t weight = 0; weight < held.front().size(); ++weight) {
      for (std::size_t i = 0; i < held.front()[weight].values->size(); ++i) {
        Real sum = 0;
        for (const auto& of : held) sum += (*of[weight].values)[i];
        for (const auto& of : held) {
          (*of[weight].values)[i] = sum / static_cast<Real>(held.size());
        }
      }
    }
  }

  Program program_;
  ParallelConfig of_;
  OptimizerSettings optimizer_;
  int steps_ = 0;
  std::map<std::pair<std::string, int>, OuterWeight> outer_{};  // by name and position
  std::vector<std::unique_ptr<BasicProgramExecution<Real>>> replicas_{};
};

[[nodiscard]] bool has_batch_norm(const ModelConfig& model) {
  return std::holds_alternative<ResNetConfig>(model.shape);
}

}  // namespace

ParallelConfig single_device(const ModelConfig& model, const ParallelConfig& of,
                             ReferenceBatch batch) {
  ParallelConfig out;
  out.micro_batch = batch == ReferenceBatch::whole ? of.global_batch : of.micro_batch * of.dp;
  if (has_batch_norm(model)) out.micro_batch = of.micro_batch;
  out.global_batch = of.global_batch;
  out.precision = of.precision;
  out.state = of.state;
  out.state.offload = false;
  out.state.muon_cuts = {of.tp, of.expert_tp()};
  return out;
}

template <class Real>
std::unique_ptr<Reference<Real>> one_device(const ModelConfig& model, const ParallelConfig& alone,
                                            const ExecutionOptions& options) {
  return std::make_unique<OneDevice<Real>>(build_program(model, alone, kGpusPerNode), options);
}

template <class Real>
std::unique_ptr<Reference<Real>> averaged_replicas(const ModelConfig& model,
                                                   const ParallelConfig& parallel,
                                                   const ExecutionOptions& options) {
  ParallelConfig alone = single_device(model, parallel, ReferenceBatch::whole);
  const int replicas = parallel.has_outer_loop() ? parallel.outer_degree() : parallel.dp;
  const int ranks = parallel.dp / replicas;
  const int parts = has_batch_norm(model) ? ranks : 1;
  alone.micro_batch = parallel.micro_batch * ranks / parts;  // dealt out by microbatch
  alone.global_batch = parallel.global_batch / replicas;
  return std::make_unique<Replicas<Real>>(build_program(model, alone, kGpusPerNode), parallel,
                                          parts, options);
}

template std::unique_ptr<Reference<float>> one_device(const ModelConfig&, const ParallelConfig&,
                                                      const ExecutionOptions&);
template std::unique_ptr<Reference<double>> one_device(const ModelConfig&, const ParallelConfig&,
                                                       const ExecutionOptions&);
template std::unique_ptr<Reference<float>> averaged_replicas(const ModelConfig&,
                                                             const ParallelConfig&,
                                                             const ExecutionOptions&);
template std::unique_ptr<Reference<double>> averaged_replicas(const ModelConfig&,
                                                              const ParallelConfig&,
                                                              const ExecutionOptions&);

}  // namespace lockstep
