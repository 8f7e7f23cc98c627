#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/config/json/json.hpp"
#include "sim/config/reader.hpp"
#include "topologies/devices/device_figure.hpp"
#include "topologies/devices/kernel_fields.hpp"

/// Parameters of kernels in JSON, by the rows of kernel_fields.hpp: each with its source in
/// configs/kernels and calibrations, plain in the file of a measured machine. `Of`: GemmParameters,
/// AttentionFigures or KernelFigures.
namespace lockstep {

/// Reads them into `out`. `partial`: absent keys keep their value, as in a file that extends
/// another.
template <class Of>
void read_parameters(ObjectReader& in, FigureReader& reader, Of& out, bool partial = false);

/// How numbers are written.
struct KernelFormat {
  std::string (*duration)(Duration) = nullptr;  // "2 us"
  std::string (*number)(double) = nullptr;      // a JSON number
};

/// Every key, each value with the same source or, without one, plain; read_parameters() reads it.
template <class Of>
[[nodiscard]] JsonObject parameters_json(const Of& of, const KernelFormat& format,
                                         std::optional<std::string_view> source = {});

}  // namespace lockstep
