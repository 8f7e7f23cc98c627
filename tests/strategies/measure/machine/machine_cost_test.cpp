#include "strategies/measure/machine/machine_cost.hpp"

#include <doctest/doctest.h>

#include "strategies/measure/machine_runs/small_programs.hpp"
#include "strategies/stacks/cost_of.hpp"

/// What `run --calibration` goes by.
namespace lockstep {
namespace {

TEST_CASE("a GPU's attention is the shipped one, its GEMMs are the measured ones") {
  const DeviceModel shipped =
      device_model(load_device(LOCKSTEP_SOURCE_DIR "/configs/devices/h100-sxm5-80gb.json"));
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
