#include "tests/sim/execute/device_program/operation_on_device.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/device_kernels/values.hpp"
#include "sim/execute/device_program/lowered_regions.hpp"

namespace lockstep {

namespace {

using Numbers = std::vector<double>;

[[nodiscard]] bool are_whole(const Numbers& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return value == std::floor(value); });
}

[[nodiscard]] Numbers rounded_to(NumberType type, const Numbers& values) {
  Numbers out;
  double room = 0;
  for (const double value : values) {
    kernels::store({&room, type}, 0, value);
    out.push_back(kernels::load<double>({&room, type}, 0));
  }
  return out;
}

/// One operation: its operands in buffers of a command graph.
class OneOperation {
 public:
  OneOperation(const Operation& operation, const KernelSettings& settings, const OnDevice& how)
      : operation_{operation}, settings_{settings}, how_{how} {
    graph_.add_stream("operation", 0);
  }

  [[nodiscard]] NumberType type_of(const Numbers& values) const {
    const bool narrow = bytes_of(how_.type) == 2;
    return narrow && are_whole(values) ? NumberType::fp32 : how_.type;
  }
  [[nodiscard]] Region buffer(NumberType type, std::int64_t count) {
    return {graph_.add_buffer("operand", 0, type, count), 0, count};
  }

  template <class Real>
  [[nodiscard]] std::vector<Numbers> run(const std::vector<Part>& reads,
                                         const std::vector<Part>& writes,
                                         const std::vector<Numbers>& held,
                                         const std::vector<NumberType>& types) {
    KernelCall<Real> call{settings_};
    call.operation = &operation_;
    LoweredRegions at;
    for (const Part& each : reads) {
      call.reads.push_back({&each.tensor, &each.layout, nullptr});
      at.reads.push_back(buffer(type_of(each.values), std::ssize(each.values)));
    }
    for (std::size_t i = 0; i < writes.size(); ++i) {
      call.writes.push_back({&writes[i].tensor, &writes[i].layout, {}});
      at.writes.push_back(buffer(types[i], std::ssize(held[i])));
    }
    const LoweredOperation lowered = lower_operation(
        call, std::vector<bool>(writes.size(), how_.adds), how_.max_scratch_elements);
    for (const LoweredScratch& each : lowered.scratch) {
      at.scratch.push_back(buffer(at.type_of(each, graph_.graph()), each.elements));
    }
    for (const LoweredKernel& each : lowered.kernels) {
      graph_.launch(0, {at.of(each.reads), at.of(each.writes),
                        std::make_shared<const KernelLaunch>(each.launch)});
    }
    const auto loaded = how_.device->load(graph_.graph());
    for (std::size_t i = 0; i < reads.size(); ++i) loaded->write(at.reads[i], reads[i].values);
    for (std::size_t i = 0; how_.adds && i < held.size(); ++i) {
      loaded->write(at.writes[i], held[i]);
    }
    loaded->run();
    std::vector<Numbers> out;
    for (const Region& each : at.writes) out.push_back(loaded->read(each));
    return out;
  }

 private:
  const Operation& operation_;
  const KernelSettings& settings_;
  const OnDevice& how_;
  CommandGraphBuilder graph_{1};
};

[[nodiscard]] double error_of(const Operation& operation, std::vector<Part> reads,
                              const std::vector<Part>& writes, const KernelSettings& settings,
                              const OnDevice& how) {
  OneOperation one{operation, settings, how};
  for (Part& each : reads) each.values = rounded_to(one.type_of(each.values), each.values);
  std::vector<Numbers> expected = run_oracle<double>(operation, reads, writes, settings);
  std::vector<NumberType> types;
  std::vector<Numbers> held;
  for (Numbers& each : expected) {
    types.push_back(one.type_of(each));
    Numbers& values = held.emplace_back();
    for (std::size_t k = 0; k < each.size(); ++k) {
      values.push_back(static_cast<double>(k % 5) - 2);
      if (how.adds) each[k] += values.back();
    }
  }
  const std::vector<Numbers> got = how.type == NumberType::fp64
                                       ? one.run<double>(reads, writes, held, types)
                                       : one.run<float>(reads, writes, held, types);
  double out = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double size = 1;
    for (const double each : expected[i]) size = std::max(size, std::abs(each));
    for (const double each : got[i]) {
      if (std::isnan(each)) return std::numeric_limits<double>::infinity();
    }
    out = std::max(out, largest_gap(got[i], expected[i]) / size);
  }
  return out;
}

/// What is kept beside a result is never added to.
[[nodiscard]] bool is_added_to(const Operation& operation) {
  return !combines_itself(operation) && operation.kind != OperationKind::batch_norm;
}

}  // namespace

double largest_error(const GradientCase& test, const OnDevice& how) {
  OnDevice forward = how;
  forward.adds = how.adds && is_added_to(test.forward);
  const double error = error_of(test.forward, test.reads, test.results, test.settings, forward);
  if (test.gradients_of.empty()) return error;
  const Values<double> results =
      run_oracle<double>(test.forward, test.reads, test.results, test.settings);
  const BackwardOperation backward = backward_of<double>(test, results);
  return std::max(
      error, error_of(backward.operation, backward.reads, backward.writes, test.settings, how));
}

}  // namespace lockstep
