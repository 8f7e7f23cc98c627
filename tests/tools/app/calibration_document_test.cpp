#include "tools/app/calibrate/calibration_document.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "sim/config/json/json_values.hpp"
#include "strategies/calibration/calibration.hpp"
#include "topologies/devices/kernel_values.hpp"

namespace lockstep::app {
namespace {

const std::string kKernels = LOCKSTEP_SOURCE_DIR "/configs/kernels";

/// With all digits: equal texts are equal parameters.
template <class Of>
std::string text_of(const Of& of) {
  const KernelFormat exact{[](Duration time) { return std::to_string(time.ps()); },
                           [](double value) { return fmt::format("{:.17g}", value); }};
  return json_text({{}, parameters_json(of, exact, "")});
}

Calibration read_again(const Calibration& calibration) {
  return read_calibration(parse_json(calibration_text(calibration), "c.json"), kKernels);
}

}  // namespace

TEST_CASE("a calibration that is written and read has every parameter of kernels") {
  // Shipped values have at most five digits, the precision of calibration files.
  Calibration written;
  written.name = written.summary = "test";
  for (const char* id : {"hopper", "ampere", "volta"})
    written.kernels[id] = load_kernel_figures(kKernels + "/" + id + ".json");
  const Calibration read = read_again(written);
  for (const auto& [id, kernels] : written.kernels) {
    CAPTURE(id);
    const KernelFigures& again = read.kernels.at(id);
    CHECK(text_of(again) == text_of(kernels));
    for (std::size_t i = 0; i < kDtypes; ++i) {
      REQUIRE(again.gemms[i].has_value() == kernels.gemms[i].has_value());
      if (kernels.gemms[i]) CHECK(text_of(*again.gemms[i]) == text_of(*kernels.gemms[i]));
    }
    for (const auto& [name, attention] : kernels.attention)
      CHECK(text_of(again.attention.at(name)) == text_of(attention));
  }
}

TEST_CASE("a calibration keeps the spread of equal devices") {
  Calibration written;
  written.name = written.summary = "test";
  written.kernels["h"] = load_kernel_figures(kKernels + "/hopper.json");
  REQUIRE(written.kernels["h"].spread > 0);
  CHECK(read_again(written).kernels.at("h").spread == written.kernels["h"].spread);
}

}  // namespace lockstep::app
