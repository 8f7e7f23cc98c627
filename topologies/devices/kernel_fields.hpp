#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cost/device_model.hpp"
#include "topologies/devices/device_kernels.hpp"

/// The parameters of kernels, each declared once. From these rows follow the reader, the writer and
/// the schema of configs/kernels, of calibrations and of measured machines, docs/reference/keys.md,
/// and which parameters `lockstep calibrate` fits to measured tables.
namespace lockstep {

/// What a parameter can be: a duration, a count or a ratio, or a list or group of such.
template <class Of>
struct KernelMember {
  using Type = std::variant<Duration Of::*, std::int64_t Of::*, double Of::*>;
};
template <>
struct KernelMember<GemmParameters> {
  using Of = GemmParameters;
  using Type =
      std::variant<Duration Of::*, std::int64_t Of::*, double Of::*, std::vector<TileShape> Of::*>;
};
template <>
struct KernelMember<AttentionFigures> {
  using Of = AttentionFigures;
  using Type = std::variant<Duration Of::*, std::int64_t Of::*, double Of::*,
                            std::vector<Of::OfHeadSize> Of::*, Of::Overhead Of::*>;
};

/// Allowed counts and ratios; durations have no range.
struct KernelRange {
  double low = 0;
  double high = 0;
};

/// Bounds of a fit, durations in seconds. `order`: position among the fitted parameters, which the
/// descent scales one by one.
struct KernelFit {
  int order = 0;
  double low = 0;
  double high = 0;
};

template <class Of>
struct KernelField {
  std::string_view key{};
  std::string_view part{};  // key within its value, if that is an object
  typename KernelMember<Of>::Type member{};
  KernelRange range{};
  std::string_view help{};
  std::optional<KernelFit> fit{};
  bool required = true;  // false: the value of a default-constructed object if absent

  [[nodiscard]] KernelField fitted(int order, double low, double high) && {
    fit = KernelFit{order, low, high};
    return *this;
  }
  [[nodiscard]] KernelField optional() && {
    required = false;
    return *this;
  }
};

template <class Of>
[[nodiscard]] const std::vector<KernelField<Of>>& kernel_fields() = delete;
template <>
[[nodiscard]] const std::vector<KernelField<TileShape>>& kernel_fields();
template <>
[[nodiscard]] const std::vector<KernelField<GemmParameters>>& kernel_fields();
template <>
[[nodiscard]] const std::vector<KernelField<AttentionFigures::OfHeadSize>>& kernel_fields();
template <>
[[nodiscard]] const std::vector<KernelField<AttentionFigures::Overhead>>& kernel_fields();
template <>
[[nodiscard]] const std::vector<KernelField<AttentionFigures>>& kernel_fields();
/// Parameters of all kernels of a device but GEMMs, attention and memory efficiencies.
template <>
[[nodiscard]] const std::vector<KernelField<KernelFigures>>& kernel_fields();

/// Rows [first, end) of one key.
template <class Of>
[[nodiscard]] std::size_t end_of_key(const std::vector<KernelField<Of>>& fields,
                                     std::size_t first) {
  std::size_t end = first;
  while (end < fields.size() && fields[end].key == fields[first].key) ++end;
  return end;
}

}  // namespace lockstep
