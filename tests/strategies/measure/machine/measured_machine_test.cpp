#include <doctest/doctest.h>

#include <cmath>

#include "sim/cost/roofline.hpp"
#include "sim/execute/command_graph/command_graph_builder.hpp"
#include "sim/execute/command_graph/host_backend.hpp"
#include "strategies/measure/machine_fit/fit_machine.hpp"
#include "strategies/measure/machine_runs/measure_machine.hpp"
#include "strategies/measure/machine_runs/simulate_machine.hpp"
#include "strategies/measure/machine_runs/small_programs.hpp"
#include "strategies/measure/machine_runs/time_operation.hpp"

/// Measuring, fitting and simulating a machine.
namespace lockstep {
namespace {

using Kind = MachineMeasurement::Kind;

/// A memory of 100 GB/s, read and written, behind 1 us.
MachineFit known_memory(bool serial) {
  MachineFit out;
  out.serial = serial;
  out.empty_copy = 1_us;
  out.model.memory_bandwidth = 100_GBps;
  out.copy.points = {{1000, 1.02e-6}, {1'000'000, 21e-6}};
  return out;
}

/// Two streams, a copy of 1 MB on each.
CommandGraph two_copies() {
  CommandGraphBuilder graph{1};
  for (int i = 0; i < 2; ++i) {
    graph.add_stream("copies", 0);
    graph.add_buffer("from", 0, NumberType::fp32, 250'000);
    graph.add_buffer("to", 0, NumberType::fp32, 250'000);
  }
  graph.copy(0, {1, 0, 250'000}, {0, 0, 250'000});
  graph.copy(1, {3, 0, 250'000}, {2, 0, 250'000});
  return graph.take();
}

/// Kernels of small programs with the times of a known device: what a fit has to find again.
std::vector<MachineMeasurement> known_kernels(const DeviceModel& model) {
  const Roofline cost{model};
  std::vector<MachineMeasurement> out;
  const auto add = [&](const Program& program) {
    for (const auto& [routine, index] : distinct_operations(program)) {
      MachineMeasurement& each = out.emplace_back();
      each.kernel = kernel_of(program, program.routines[routine], index);
      each.what = std::string{to_string(each.kernel.kind)};
      each.seconds = cost.time(each.kernel).seconds();
    }
  };
  for (const std::int64_t size : {32, 64, 128, 256}) {
    add(gemm_program(size, size, size, Dtype::fp32));
    add(gemm_program(size, 2 * size, size / 2, Dtype::fp32));
  }
  for (const std::int64_t sequence : {64, 128, 256}) {
    AttentionShape shape;
    shape.sequence = sequence;
    add(attention_program(shape, Dtype::fp32));
  }
  TransformerShape shape;
  shape.hidden = 64;
  shape.heads = 2;
  add(transformer_program(shape, Dtype::fp32));
  return out;
}

DeviceModel known_device() {
  DeviceModel model;
  model.peaks[static_cast<std::size_t>(Dtype::fp32)] = FlopRate{50e9};
  GemmParameters figures;
  figures.launch = 1_us;
  figures.tile_start = 20_ns;
  figures.k_granularity = figures.alignment = figures.max_split_k = 1;
  figures.min_k_per_split = 256;
  figures.throttling_half_time = 1_ms;
  figures.tiles = {{32, 32, 0.9}};
  model.gemms[static_cast<std::size_t>(Dtype::fp32)] = figures;
  model.attention.launch = 2_us;
  model.attention.block = 1;
  model.attention.head_grain = 1;
  model.attention.head_sizes = {{32, 0.05, 0.06}, {64, 0.05, 0.06}};
  model.attention.forward = model.attention.backward = {20, 60};
  model.memory_bandwidth = 100_GBps;
  model.memory_efficiency.fill(1);
  model.kinds.fill({1, 3});
  model.launch = 100_ns;
  return model;
}

TEST_CASE("a fit finds the figures of a known device again") {
  std::vector<MachineMeasurement> measurements = known_kernels(known_device());
  const auto add = [&](Kind kind, double seconds, std::int64_t bytes) {
    MachineMeasurement& each = measurements.emplace_back();
    each.kind = kind;
    each.what = "fp32";
    each.seconds = seconds;
    each.bytes = bytes;
  };
  add(Kind::graph_node, 100e-9, 0);
  add(Kind::empty_copy, 1e-6, 0);
  add(Kind::copy, 1.02e-6, 1000);
  add(Kind::copy, 20e-6, 1'000'000);  // 2 MB moved in 20 us: 100 GB/s
  const MachineFit fit = fit_machine(measurements, true, 1);
  CHECK(fit.model.memory_bandwidth.bytes_per_second() == doctest::Approx(100e9));
  // Bytes moved, over the least, of what memory bounds: 3, as the device was made.
  CHECK(fit.model.kinds[static_cast<std::size_t>(OperationKind::normalization)].traffic ==
        doctest::Approx(3).epsilon(0.01));
  for (const MachineResidual& each : residuals_of(measurements, fit)) {
    CAPTURE(each.of);
    // A search along one figure at a time may stop beside the very best.
    CHECK(each.median < 0.1);
  }
}

TEST_CASE("a host does one copy after the other, a GPU both at once at half the rate") {
  // One after the other, each 21 us by the curve.
  CHECK(simulate_command_graph(two_copies(), known_memory(true)) == 42_us);
  // 1 us of latency, then 2 * 2 MB at 100 GB/s: 40 us; the curve gives 20 us for each alone.
  CHECK(simulate_command_graph(two_copies(), known_memory(false)) == 41_us);
}

TEST_CASE("times between measured sizes lie on a straight line of the logarithms") {
  MemoryCurve curve;
  curve.points = {{100, 1e-6}, {10'000, 100e-6}};
  CHECK(curve.seconds(1000) == doctest::Approx(10e-6));
  CHECK(curve.seconds(10) == doctest::Approx(1e-6));        // the least there is
  CHECK(curve.seconds(20'000) == doctest::Approx(200e-6));  // at the last rate
}

TEST_CASE("programs take the sum of their kernels where one stream does them") {
  const Program program = gemm_program(64, 64, 64, Dtype::fp32);
  MachineFit fit = known_memory(true);
  fit.model = known_device();
  const Roofline cost{fit.model};
  CHECK(simulate_program(program, fit) == cost.time(kernel_of(program, program.routines[0], 0)));
}

TEST_CASE("a host is measured on numbers that are not zero, and everything takes time") {
  const auto host = host_backend();
  MeasureOptions options;
  options.quick = true;
  options.repeats = 1;
  std::size_t kernels = 0;
  for (const MachineMeasurement& each : measure_machine(*host, true, options)) {
    CAPTURE(to_string(each.kind));
    CAPTURE(each.what);
    CHECK(each.shared);
    if (each.bytes >= 1 << 16) CHECK(each.seconds > 0);
    kernels += each.kind == Kind::kernel ? 1 : 0;
  }
  CHECK(kernels > 40);
}

TEST_CASE("a routine alone is its operations, and a whole step runs as one graph") {
  const auto host = host_backend();
  TransformerShape shape;
  shape.hidden = 32;
  shape.heads = 2;
  shape.sequence = 8;
  shape.vocabulary = 16;
  for (const bool llama : {false, true}) {
    shape.llama = llama;
    const Program whole = transformer_program(shape, Dtype::fp32);
    const Program layer = only_routine(whole, "layer.forward");
    CHECK(layer.roles.front().calls.size() == 1);
    TimingOptions options;
    options.repeats = 1;
    CHECK(time_program(*host, whole, options) > time_program(*host, layer, options));
  }
}

}  // namespace
}  // namespace lockstep
