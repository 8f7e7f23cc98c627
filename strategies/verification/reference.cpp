#include "strategies/verification/reference.hpp"

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

/// The samples of one replica: of every microbatch its share.
[[nodiscard]] SampleOf share_of(int replica, int replicas) {
  return [replica, replicas](int microbatch, std::int64_t index, std::int64_t batch) {
    return (std::int64_t{microbatch} * replicas + replica) * batch + index;
  };
}

template <class Real>
class Replicas final : public Reference<Real> {
 public:
  Replicas(Program program, const ParallelConfig& of, ExecutionOptions options)
      : program_{std::move(program)}, every_{of.average_every} {
    for (int replica = 0; replica < of.dp; ++replica) {
      options.sample_of = share_of(replica, of.dp);
      replicas_.push_back(std::make_unique<BasicProgramExecution<Real>>(program_, options));
    }
  }

  double step() override {
    double loss = 0;
    for (const auto& replica : replicas_) loss += replica->step();
    if (++steps_ % every_ == 0) average();
    return loss / static_cast<double>(replicas_.size());
  }

  [[nodiscard]] int replicas() const override { return static_cast<int>(replicas_.size()); }
  [[nodiscard]] BasicProgramExecution<Real>& execution(int replica) override {
    return *replicas_.at(static_cast<std::size_t>(replica));
  }

 private:
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
  int every_;
  int steps_ = 0;
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
  alone.micro_batch = parallel.micro_batch;  // samples are dealt out by microbatch
  alone.global_batch = parallel.global_batch / parallel.dp;
  return std::make_unique<Replicas<Real>>(build_program(model, alone, kGpusPerNode), parallel,
                                          options);
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
