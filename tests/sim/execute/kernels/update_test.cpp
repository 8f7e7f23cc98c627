#include <doctest/doctest.h>

#include <cmath>

#include "tests/sim/execute/kernels/kernel_case.hpp"

/// Optimizers over several steps, against their formulas written out.
namespace lockstep {
namespace {

constexpr int kSteps = 4;
constexpr double kRounding = 1e-15;  // a few roundings of numbers below 1

/// The gradient of the weight in a step: of both signs, different every time.
[[nodiscard]] double gradient_at(int step) {
  return 0.5 / step - 0.2;
}

/// A weight of one element and what its optimizer keeps, trained for some steps.
class Trained {
 public:
  Trained(Optimizer optimizer, std::size_t states) : held_(1 + states, {0.7}) {
    operation_.kind = OperationKind::update;
    operation_.optimizer = optimizer;
    tensors_.resize(2 + states);
    for (std::size_t i = 2; i < tensors_.size(); ++i) {
      tensors_[i].category = Category::optimizer_state;
      held_[i - 1] = {0.0};
    }
  }
  /// The first state is a copy of the weight that is more precise.
  void keep_master() {
    tensors_[2].copy_of = TensorId{1};
    held_[1] = {0.7};
  }

  void step(int number) {
    const std::vector<double> gradient{gradient_at(number)};
    KernelCall<double> call;
    call.operation = &operation_;
    call.step = number;
    call.reads.push_back({&tensors_[0], &layout_, &gradient});
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const bool from_master = i == 0 && tensors_.size() > 2 && tensors_[2].copy_of.has_value();
      if (!from_master) call.reads.push_back({&tensors_[i + 1], &layout_, &held_[i]});
      call.writes.push_back({&tensors_[i + 1], &layout_, std::vector<double>(1, 0.0)});
    }
    run_kernel(call);
    for (std::size_t i = 0; i < held_.size(); ++i) held_[i] = call.writes[i].values;
  }

  /// The weight, then the states.
  [[nodiscard]] double value(std::size_t i) const { return held_[i][0]; }

 private:
  Operation operation_ = operation_of(OperationKind::update);
  std::vector<Tensor> tensors_{};  // gradient, weight, states
  std::vector<std::vector<double>> held_;
  PartLayout layout_ = whole({{Dim::hidden, 1}});
};

const OptimizerSettings kDefault{};

TEST_CASE("SGD: w -= eta g") {
  Trained trained{Optimizer::sgd, 0};
  double w = 0.7;
  for (int step = 1; step <= kSteps; ++step) {
    trained.step(step);
    w -= kDefault.learning_rate * gradient_at(step);
    CHECK(trained.value(0) == doctest::Approx(w).epsilon(kRounding));
  }
}

TEST_CASE("momentum: the moment is the sum of gradients, each mu times less a step later") {
  Trained trained{Optimizer::momentum, 1};
  double w = 0.7;
  for (int step = 1; step <= kSteps; ++step) {
    trained.step(step);
    double moment = 0;
    for (int past = 1; past <= step; ++past) {
      moment += std::pow(kDefault.momentum, step - past) * gradient_at(past);
    }
    w -= kDefault.learning_rate * moment;
    CHECK(trained.value(1) == doctest::Approx(moment).epsilon(4 * kRounding));
    CHECK(trained.value(0) == doctest::Approx(w).epsilon(4 * kRounding));
  }
}

/// Sutskever et al., ICML 2013, as torch.optim.SGD has it: the gradient and mu times the moment
/// that has it already.
TEST_CASE("the outer optimizer: Nesterov momentum, at rates of its own") {
  Trained trained{Optimizer::outer, 1};
  double w = 0.7;
  for (int step = 1; step <= kSteps; ++step) {
    trained.step(step);
    double moment = 0;
    for (int past = 1; past <= step; ++past)
      moment += std::pow(kDefault.outer_momentum, step - past) * gradient_at(past);
    w -= kDefault.outer_learning_rate * (gradient_at(step) + kDefault.outer_momentum * moment);
    CHECK(trained.value(1) == doctest::Approx(moment).epsilon(8 * kRounding));
    CHECK(trained.value(0) == doctest::Approx(w).epsilon(8 * kRounding));
  }
}

/// Kingma and Ba, arXiv 1412.6980, section 2: moments are weighted means of all gradients,
/// (1 - beta) sum of beta^(t - i) g_i, over 1 - beta^t, the sum of the weights.
[[nodiscard]] double unbiased_mean(double beta, int step, int power) {
  double sum = 0;
  for (int past = 1; past <= step; ++past) {
    sum += (1 - beta) * std::pow(beta, step - past) * std::pow(gradient_at(past), power);
  }
  return sum / (1 - std::pow(beta, step));
}
[[nodiscard]] double adam_step(int step) {
  return kDefault.adam_learning_rate * unbiased_mean(kDefault.beta1, step, 1) /
         (std::sqrt(unbiased_mean(kDefault.beta2, step, 2)) + kDefault.epsilon);
}

TEST_CASE("Adam: the mean of gradients over the root of the mean of their squares") {
  Trained trained{Optimizer::adam, 2};
  double w = 0.7;
  for (int step = 1; step <= kSteps; ++step) {
    trained.step(step);
    w -= adam_step(step);
    // 1 - beta2 has 1e-13 of its digits left.
    CHECK(trained.value(0) == doctest::Approx(w).epsilon(1e-14));
  }
}

/// A first step of Adam is eta times the sign of the gradient, whatever its size.
TEST_CASE("the first step of Adam is as long as the learning rate") {
  Trained trained{Optimizer::adam, 2};
  trained.step(1);
  const double g = gradient_at(1);
  const double expected = 0.7 - kDefault.adam_learning_rate * g / (g + kDefault.epsilon);
  CHECK(trained.value(0) == doctest::Approx(expected).epsilon(1e-14));
}

TEST_CASE("where there is a master copy it is trained, and the weight follows it") {
  Trained trained{Optimizer::adam, 3};
  trained.keep_master();
  double w = 0.7;
  for (int step = 1; step <= kSteps; ++step) {
    trained.step(step);
    w -= adam_step(step);
    CHECK(trained.value(1) == doctest::Approx(w).epsilon(1e-14));
    CHECK(trained.value(0) == trained.value(1));
  }
}

}  // namespace
}  // namespace lockstep
