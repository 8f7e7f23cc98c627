#include "strategies/measure/machine/machine_cost.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "sim/cost/roofline.hpp"
#include "strategies/measure/machine_runs/small_programs.hpp"
#include "strategies/stacks/cost_of.hpp"

/// What `run --calibration` goes by.
namespace lockstep {
namespace {

[[nodiscard]] DeviceModel h100() {
  return device_model(load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/h100-sxm5-80gb.json"));
}

TEST_CASE("what a GPU's calibration did not measure stays as shipped: fp8, small kernels, losses") {
  const DeviceModel shipped = h100();
  const auto of = [](Dtype dtype) { return static_cast<std::size_t>(dtype); };
  MachineFit fit;
  fit.serial = false;
  fit.model = shipped;
  fit.model.gemms[of(Dtype::fp8)].reset();
  fit.model.peaks[of(Dtype::fp8)].reset();
  fit.model.gemms[of(Dtype::bf16)]->throttling_loss = 0;
  // As if a copy had been measured at the shipped rate of the memory, its best.
  const double best =
      *std::max_element(shipped.memory_efficiency.begin(), shipped.memory_efficiency.end());
  fit.model.memory_bandwidth = shipped.memory_bandwidth.scaled(best);
  fit.model.launch = 1000_ms;
  fit.model.slowdown_while_communicating = 2;
  for (KindFigures& kind : fit.model.kinds) kind = {1, 100};
  const auto cost = cost_model(fit, shipped);
  DeviceModel loaded = shipped;
  loaded.gemms[of(Dtype::bf16)]->throttling_half_time = {};
  const Roofline under_load{loaded};
  const auto step = transformer_program({}, Dtype::bf16);
  for (const Routine& routine : step.routines) {
    for (std::size_t i = 0; i < routine.operations.size(); ++i) {
      Kernel kernel = kernel_of(step, routine, i);
      CAPTURE(routine.operations[i].name);
      CHECK(cost->time(kernel).seconds() ==
            doctest::Approx(under_load.time(kernel).seconds()).epsilon(1e-3));
      if (kernel.kind != OperationKind::matmul) continue;
      kernel.math = Dtype::fp8;
      CHECK(cost->time(kernel).seconds() ==
            doctest::Approx(under_load.time(kernel).seconds()).epsilon(1e-3));
    }
  }
}

TEST_CASE("a GPU's attention is the shipped one, its GEMMs are the measured ones") {
  DeviceModel shipped = h100();
  for (auto& gemms : shipped.gemms) {
    if (gemms) gemms->throttling_loss = 0;
  }
  MachineFit fit;
  fit.serial = false;
  fit.model = shipped;
  // A card with half of the rate, whose backend does attention at a hundredth of it.
  for (auto& peak : fit.model.peaks) {
    if (peak) peak = FlopRate{peak->per_second() / 2};
  }
  for (auto& each : fit.model.attention.head_sizes) each.forward = each.backward = 0.01;
  const auto seconds = [](const CostModel& cost, const Program& program) {
    return cost.time(kernel_of(program, program.routines[0], 0)).seconds();
  };
  const Program attention = attention_program({}, Dtype::bf16);
  const Program gemm = gemm_program(4096, 4096, 4096, Dtype::bf16);
  MachineFit full = fit;
  full.model = shipped;
  const auto shipped_cost = cost_model(full);
  const auto own = cost_model(fit);
  const auto library = cost_model(fit, shipped);
  // Shares are of the shipped peak: the same attention, as far as a share of one allows.
  CHECK(seconds(*library, attention) ==
        doctest::Approx(seconds(*shipped_cost, attention)).epsilon(0.5));
  CHECK(seconds(*library, attention) < seconds(*own, attention) / 5);
  CHECK(seconds(*library, gemm) == seconds(*own, gemm));
  CHECK(seconds(*library, gemm) > 1.5 * seconds(*shipped_cost, gemm));
}

}  // namespace
}  // namespace lockstep
