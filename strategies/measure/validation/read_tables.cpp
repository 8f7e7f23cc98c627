#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/cost/device_model.hpp"
#include "strategies/measure/validation/measured_readers.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kMostTableRanks = 1 << 24;
constexpr std::int64_t kLargestMessage = std::int64_t{1} << 50U;
constexpr std::int64_t kLongest = 1'000'000'000;  // of any dimension

std::vector<std::string_view> collective_names() {
  return {kCollectiveNames.begin(), kCollectiveNames.end()};
}

CollectivePoint read_collective_point(ObjectReader& in, Position at) {
  CollectivePoint point;
  point.at = at;
  const auto size =
      in.optional_integer({"size_bytes", "Size as counted by nccl-tests"}, 1, kLargestMessage);
  if (size) point.size = Bytes{*size};
  point.time = optional_seconds(in, "time_s");
  point.bus_bandwidth = optional_bandwidth(in, "busbw_Bps");
  in.refine("oneOf", R"([{"required": ["size_bytes", "time_s"]},
      {"required": ["busbw_Bps"],
       "allOf": [{"not": {"required": ["size_bytes"]}}, {"not": {"required": ["time_s"]}}]}])");
  if (point.size.has_value() != point.time.has_value()) {
    in.note("size_bytes and time_s belong together");
  } else if (!point.size && !point.bus_bandwidth) {
    in.note("expected size_bytes with time_s, or busbw_Bps alone");
  }
  return point;
}

/// A dimension that the kind of table needs.
std::int64_t length(ObjectReader& in, const Key& key) {
  return in.integer(key, 1, kLongest);
}

void need_time(ObjectReader& in, DevicePoint& point) {
  point.time = optional_seconds(in, "time_s");
  in.describe_required("time_s");
  if (!point.time) in.note("the required key \"time_s\" is missing");
}

void read_shape(ObjectReader& in, DevicePoint& point) {
  point.m = length(in, "m");
  point.n = length(in, "n");
  point.k = length(in, "k");
}

/// A shape, all of it or nothing, and the rate that it reaches.
void read_limit(ObjectReader& in, DevicePoint& point) {
  point.rate = optional_flops(in, "flops_per_s");
  in.describe_required("flops_per_s");
  in.refine("dependencies", R"({"m": ["n", "k"], "n": ["m", "k"], "k": ["m", "n"]})");
  if (!point.rate) in.note("the required key \"flops_per_s\" is missing");
  point.m = in.integer("m", 1, kLongest, 0);
  point.n = in.integer("n", 1, kLongest, 0);
  point.k = in.integer("k", 1, kLongest, 0);
  if ((point.m > 0) != (point.n > 0) || (point.m > 0) != (point.k > 0))
    in.note("m, n and k belong together");
}

void read_attention_point(ObjectReader& in, DevicePoint& point) {
  point.seq = length(in, "seq");
  point.batch = length(in, "batch");
  need_time(in, point);
  (void)optional_flops(in, "flops_per_s");
  (void)in.optional_boolean({"approximate", "Values read from a chart"});
}

void read_spread_attention(ObjectReader& in, DevicePoint& point) {
  point.ulysses = length(in, "ulysses");
  point.ring = length(in, "ring");
  point.ring_layout = in.string("ring_layout");
  point.packed = in.boolean("packed");
  need_time(in, point);
}

void read_memory(ObjectReader& in, DevicePoint& point) {
  point.op = in.string("op");
  point.bandwidth = optional_bandwidth(in, "bandwidth_Bps");
  in.describe_required("bandwidth_Bps");
  if (!point.bandwidth) in.note("the required key \"bandwidth_Bps\" is missing");
}

void read_device_point(ObjectReader& in, DeviceQuantity kind, DevicePoint& point) {
  switch (kind) {
    case DeviceQuantity::gemm:
      read_shape(in, point);
      return need_time(in, point);
    case DeviceQuantity::grouped_gemm:
      point.groups = in.integer({"groups", "Products in one kernel, as of experts"}, 1, kLongest);
      read_shape(in, point);
      return need_time(in, point);
    case DeviceQuantity::gemm_limit:
      return read_limit(in, point);
    case DeviceQuantity::attention:
      return read_attention_point(in, point);
    case DeviceQuantity::sequence_parallel_attention:
      return read_spread_attention(in, point);
    case DeviceQuantity::memory:
      return read_memory(in, point);
    case DeviceQuantity::launch:
      point.m = length(in, "m");
      return need_time(in, point);
    case DeviceQuantity::memory_bound:
      point.moved = Bytes{in.integer(
          {"moved_bytes", "Bytes of all tensors that the operation reads or writes, each once"}, 1,
          kLargestMessage)};
      return need_time(in, point);
  }
}

void read_points(ObjectReader& in, DeviceTable& table) {
  in.array(
      "rows",
      [&table](const ValueReader& row) {
        DevicePoint point;
        if (row.value() != nullptr) point.at = row.value()->at;
        row.object([&](ObjectReader& of) { read_device_point(of, table.kind, point); });
        table.points.push_back(std::move(point));
      },
      1);
}

void read_pass(ObjectReader& in, DeviceTable& table) {
  const std::string pass = in.one_of("pass", "pass", {"forward", "forward+backward"});
  table.backward = pass == "forward+backward";
}

void read_heads(ObjectReader& in, DeviceTable& table) {
  table.heads = length(in, "heads");
  table.head_size = length(in, "head_dim");
}

/// Where they differ from heads and head_dim.
void read_keys_and_values(ObjectReader& in, DeviceTable& table) {
  table.kv_heads =
      in.optional_integer({"kv_heads", "Heads of keys and values (default: heads)"}, 1, kLongest)
          .value_or(table.heads);
  table.value_head_size =
      in.optional_integer({"value_head_dim",
                           "Size of a head of the values and of the result (default: head_dim)"},
                          1, kLongest)
          .value_or(table.head_size);
  if (!in.describes() && table.heads % table.kv_heads != 0)
    in.note(
        fmt::format("\"kv_heads\" {} does not divide \"heads\" {}", table.kv_heads, table.heads));
}

OperationKind read_operation(ObjectReader& in) {
  std::vector<std::string_view> names;
  std::vector<OperationKind> kinds;
  for (std::size_t i = 0; i < kOperationKinds; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    if (row_of(kind).work == WorkRule::none || uses_matrix_units(kind)) continue;
    kinds.push_back(kind);
    names.push_back(to_string(kind));
  }
  const std::string name =
      in.one_of({"operation", "Operation, all kernels of it"}, "memory-bound operation", names);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return OperationKind::add;  // reported
  return kinds[static_cast<std::size_t>(found - names.begin())];
}

/// What only one kind of table says.
void read_about(ObjectReader& in, DeviceTable& table) {
  switch (table.kind) {
    case DeviceQuantity::gemm:
    case DeviceQuantity::gemm_limit:
    case DeviceQuantity::grouped_gemm:
      table.precision =
          in.one_of("precision", "precision", {"fp64", "fp32", "fp16", "bf16", "fp8", "fp4"});
      (void)optional_flops(in, "peak_flops_per_s");
      break;
    case DeviceQuantity::attention:
      table.precision = in.one_of("precision", "precision", {"fp32", "fp16", "bf16", "fp8", "fp4"});
      table.implementation = in.string("implementation");
      table.causal = in.boolean("causal");
      read_heads(in, table);
      read_keys_and_values(in, table);
      read_pass(in, table);
      break;
    case DeviceQuantity::sequence_parallel_attention:
      read_heads(in, table);
      read_pass(in, table);
      (void)length(in, "batch");
      (void)length(in, "seq");
      (void)length(in, "gpus");
      (void)in.optional_one_of("intra", "way to join the GPUs of a node",
                               {"nvswitch", "nvlink-mesh", "nvl72", "pcie"});
      break;
    case DeviceQuantity::memory_bound:
      table.stack = in.string({"stack", "A software stack of configs/stacks"});
      table.operation = read_operation(in);
      break;
    case DeviceQuantity::memory:
    case DeviceQuantity::launch:
      break;
  }
}

constexpr std::array<std::string_view, 8> kKinds{
    "gemm",   "gemm-limit", "grouped-gemm", "attention", "sequence-parallel-attention",
    "memory", "launch",     "memory-bound"};

}  // namespace

CollectiveTable read_collective_table(ObjectReader& in) {
  CollectiveTable table;
  table.origin = read_origin(in);
  table.cluster = read_measured_cluster(in);
  const std::string name = in.one_of("collective", "collective", collective_names());
  table.collective = parse_collective(name).value_or(Collective::all_reduce);
  table.ranks = static_cast<int>(in.integer("ranks", 2, kMostTableRanks));
  (void)in.optional_string("library");
  table.algorithm = in.one_of({"algorithm", "Algorithm that was selected explicitly or is stated"},
                              "algorithm", {"ring", "tree", "nvls", "sharp"}, "");
  in.array(
      "rows",
      [&table](const ValueReader& row) {
        const Position at = row.value() == nullptr ? Position{} : row.value()->at;
        row.object(
            [&](ObjectReader& of) { table.points.push_back(read_collective_point(of, at)); });
      },
      1);
  return table;
}

DeviceTable read_device_table(ObjectReader& in) {
  DeviceTable table;
  table.origin = read_origin(in);
  const auto kind = in.kind("kind", "kind of device table", {kKinds.begin(), kKinds.end()});
  if (!kind) return table;
  const auto found = std::find(kKinds.begin(), kKinds.end(), *kind);
  table.kind = static_cast<DeviceQuantity>(found - kKinds.begin());
  table.gpu = in.string({"gpu", "A device of configs/devices"});
  read_about(in, table);
  read_points(in, table);
  return table;
}

}  // namespace lockstep
