#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/config/json/config_error.hpp"
#include "sim/cost/roofline.hpp"
#include "strategies/layout/scenario_names.hpp"
#include "strategies/stacks/cost_of.hpp"
#include "tools/app/errors.hpp"
#include "tools/app/inputs/cluster_request.hpp"
#include "tools/app/validate/compare.hpp"
#include "tools/app/validate/device_kernels.hpp"
#include "topologies/devices/device_kernels.hpp"

namespace lockstep::app {

namespace {

/// Copied to measure a bandwidth: much more than caches hold.
constexpr Bytes kCopied{std::int64_t{1} << 30U};

Dtype dtype_of(const DeviceTable& table) {
  if (table.precision == "fp4") return Dtype::nvfp4;
  return named(precision_names(), table.precision).value_or(Dtype::bf16);
}

/// The parameters of Hopper were fitted to the fp8 tables as GEMMs alone and hold the cast of their
/// input in the launch.
bool casts_input(const DeviceTable& table) {
  return table.kind == DeviceQuantity::gemm && dtype_of(table) == Dtype::fp8 &&
         find_device(table.origin.id, table.gpu).kernels == "blackwell";
}

/// The fp8 tables time linear layers on 16-bit input, which they cast with one scale per tensor:
/// one kernel reads it for its largest value, one reads it again and writes 8 bits (NVIDIA
/// TensorRT-LLM, quantize_e4m3_per_tensor).
void cast_input(Kernel& kernel) {
  kernel.cast_kernels = 2;
  kernel.cast_bytes = 5 * static_cast<double>(kernel.m) * static_cast<double>(kernel.k);
}

}  // namespace

DeviceModel table_model(const DeviceTable& table, const Device& device,
                        const Calibration& calibration) {
  const bool unfused = table.implementation == "unfused";
  if (table.kind == DeviceQuantity::memory_bound)
    return device_model(device, table.stack, config_folder(), &calibration);
  DeviceModel model =
      device_model(device, unfused ? "eager" : "fused", config_folder(), &calibration);
  if (table.kind != DeviceQuantity::attention || unfused) return model;
  const auto fitted = calibration.kernels.find(device.id);
  const KernelFigures kernels =
      fitted != calibration.kernels.end()
          ? fitted->second
          : load_kernel_figures(config_folder() + "/kernels/" + device.kernels + ".json");
  const auto found = kernels.attention.find(table.implementation);
  if (found == kernels.attention.end())
    throw RequestError(fmt::format("configs/kernels/{}.json has no attention by {}", device.kernels,
                                   table.implementation));
  model.attention = found->second;
  return model;
}

namespace {

/// One point as a comparison, or why there is none.
struct Point {
  std::string id{};
  ComparedQuantity quantity = ComparedQuantity::gemm_time;
  double measured = 0;
  double simulated = 0;
  std::optional<UnmodeledReason> reason{};
};

double seconds_of(const CostModel& cost, const std::vector<Kernel>& kernels) {
  double out = 0;
  for (const Kernel& kernel : kernels) out += cost.time(kernel).seconds();
  return out;
}

std::string shape_of(const DevicePoint& point) {
  const std::string shape = fmt::format("m{}-n{}-k{}", point.m, point.n, point.k);
  return point.groups > 1 ? fmt::format("g{}-{}", point.groups, shape) : shape;
}

Point gemm(const DeviceTable& table, const DevicePoint& point, const CostModel& cost, bool casts) {
  Kernel kernel = gemm_kernel(point, dtype_of(table));
  if (casts) cast_input(kernel);
  return {shape_of(point), ComparedQuantity::gemm_time, point.time->seconds(),
          cost.time(kernel).seconds()};
}

Point limit(const DeviceTable& table, const DevicePoint& point, const CostModel& cost) {
  if (point.m == 0)
    return {"", ComparedQuantity::gemm_rate, 0, 0, UnmodeledReason::shape_not_printed};
  const Kernel kernel = gemm_kernel(point, dtype_of(table));
  return {shape_of(point), ComparedQuantity::gemm_rate, point.rate->per_second(),
          kernel.flops / cost.time(kernel).seconds()};
}

Point attention(const DeviceTable& table, const DevicePoint& point, const CostModel& cost) {
  return {fmt::format("seq{}", point.seq), ComparedQuantity::attention_time, point.time->seconds(),
          seconds_of(cost, attention_kernels(table, point, dtype_of(table)))};
}

Point memory(const DevicePoint& point, const CostModel& cost) {
  const auto bytes = static_cast<double>(kCopied.count());
  if (point.op != "device-to-device copy")
    return {point.op, ComparedQuantity::memory_rate, 0, 0, UnmodeledReason::host_link};
  return {point.op, ComparedQuantity::memory_rate, point.bandwidth->bytes_per_second(),
          bytes / cost.time(copy_kernel(kCopied)).seconds()};
}

/// The host issues while the device computes: the slower of both sets the pace.
Point launch(const DeviceTable& table, const DevicePoint& point, const CostModel& cost) {
  DevicePoint square = point;
  square.n = square.k = point.m;
  const Kernel kernel = gemm_kernel(square, dtype_of(table));
  return {fmt::format("m{}", point.m), ComparedQuantity::launch_time, point.time->seconds(),
          std::max(cost.host_time(kernel), cost.time(kernel)).seconds()};
}

Point memory_bound(const DeviceTable& table, const DevicePoint& point, const CostModel& cost) {
  return {fmt::format("{}-bytes", point.moved.count()), ComparedQuantity::kernel_time,
          point.time->seconds(),
          cost.time(memory_bound_kernel(table.operation, point.moved)).seconds()};
}

Point compared(const DeviceTable& table, const DevicePoint& point, const CostModel& cost,
               bool casts) {
  switch (table.kind) {
    case DeviceQuantity::gemm:
    case DeviceQuantity::grouped_gemm:
      return gemm(table, point, cost, casts);
    case DeviceQuantity::gemm_limit:
      return limit(table, point, cost);
    case DeviceQuantity::attention:
      return attention(table, point, cost);
    case DeviceQuantity::memory:
      return memory(point, cost);
    case DeviceQuantity::launch:
      return launch(table, point, cost);
    case DeviceQuantity::memory_bound:
      return memory_bound(table, point, cost);
    case DeviceQuantity::sequence_parallel_attention:
      break;
  }
  return {fmt::format("ulysses{}-ring{}-{}{}", point.ulysses, point.ring, point.ring_layout,
                      point.packed ? "-packed" : ""),
          ComparedQuantity::attention_time, 0, 0, UnmodeledReason::attention_over_gpus};
}

void add(const DeviceTable& table, const Point& point, ValidateResult& out) {
  const std::string& name = table.origin.id;
  const std::string id = point.id.empty() ? name : name + "/" + point.id;
  if (point.reason) {
    out.left_out.push_back({id, name, *point.reason});
    return;
  }
  Comparison row;
  row.id = id;
  row.group = name;
  row.quantity = point.quantity;
  row.measured = point.measured;
  row.simulated = point.simulated;
  row.assumed = !table.origin.assumed.empty();
  out.rows.push_back(std::move(row));
}

}  // namespace

ValidateResult compare_points(const DeviceTable& table, const DeviceModel& model) {
  ValidateResult out;
  const Roofline cost{model};
  const bool casts = casts_input(table);
  for (const DevicePoint& point : table.points)
    add(table, compared(table, point, cost, casts), out);
  return out;
}

ValidateResult compare_device(const DeviceTable& table, const ValidateRequest& request) {
  try {
    const Device device = find_device(table.origin.id, table.gpu);
    return compare_points(table, table_model(table, device, calibration_of(request)));
  } catch (const ConfigError& error) {
    return {{}, {unmodeled(table.origin.id, table.origin.id, error)}};
  } catch (const RequestError& error) {
    return {{}, {unmodeled(table.origin.id, table.origin.id, error)}};
  }
}

}  // namespace lockstep::app
