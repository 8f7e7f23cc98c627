#pragma once

#include <string>
#include <string_view>

#include "sim/config/json.hpp"
#include "sim/config/reader.hpp"
#include "topologies/devices/device_figure.hpp"
#include "topologies/devices/kernel_fields.hpp"

/// Parameters of kernels in JSON, by the rows of kernel_fields.hpp. Two forms: in configs/kernels
/// and calibrations every value has a source, {"value": ..., "source": ...}; machine calibrations
/// contain plain values. `Of`: GemmParameters, AttentionFigures or KernelFigures.
namespace lockstep {

/// Reads values with sources into `out`. `partial`: absent keys keep their value, as in a file that
/// extends another.
template <class Of>
void read_parameters(ObjectReader& in, FigureReader& sources, Of& out, bool partial = false);

/// Reads plain values by their keys in machine calibrations.
template <class Of>
[[nodiscard]] Of read_plain_parameters(ObjectReader& in);

/// How numbers are written.
struct KernelFormat {
  std::string (*duration)(Duration) = nullptr;  // "2 us"
  std::string (*number)(double) = nullptr;      // a JSON number
};

/// Every key, each value with the same source; read_parameters() reads it.
template <class Of>
[[nodiscard]] JsonObject parameters_json(const Of& of, const KernelFormat& format,
                                         std::string_view source);
/// Keys of machine calibrations, lists last; read_plain_parameters() reads it.
template <class Of>
[[nodiscard]] JsonValue plain_parameters_json(const Of& of, const KernelFormat& format);

}  // namespace lockstep
