#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json/json.hpp"
#include "sim/program/operation.hpp"
#include "sim/schedule/contract.hpp"

/// Results measured on real machines, as read from files (configs/schema/measured.schema.json; SI
/// units in key names). Absent fields are unknown.
namespace lockstep {

/// Common to rows and tables.
struct MeasuredOrigin {
  std::string file{};
  Position at{};
  std::string id{};
  std::string source{};                // citation
  std::vector<std::string> assumed{};  // fields that the source does not print
  std::string notes{};
};

/// Evaluations during training, in sequences: `sequences` forward after every `every_sequences`
/// that were trained on.
struct Evaluations {
  std::int64_t every_sequences = 0;
  std::int64_t sequences = 0;
};

/// One training run.
struct MeasuredRun {
  MeasuredOrigin origin{};
  std::string group{};  // rows of one source and one convention
  bool core = false;    // of the short suite
  /// Parts of a scenario, with their positions in the file.
  JsonValue cluster{};
  JsonValue model{};
  JsonValue parallel{};
  std::string stack{};  // software stack that the row names; empty: by rule (stack_rule.hpp)
  // Used by stack and library rules.
  std::string gpu{};
  std::string attention{};  // flash, unfused; empty: unknown
  std::string precision{};  // of GEMMs; empty: unknown
  // Measurements.
  std::optional<Duration> step_time{};
  bool time_is_derived = false;              // from printed rates or the time of a whole run
  std::optional<Evaluations> evaluations{};  // in the step time, as the row says
  std::optional<Duration> layer_forward{};   // of one layer and microbatch
  std::optional<Duration> layer_backward{};  // the same, recomputation included
  std::optional<Bytes> peak_memory{};        // maximum over ranks
  bool memory_is_reserved = false;           // reserved by the allocator, not only allocated
};

/// Time of one message size, or the bus bandwidth of large messages.
struct CollectivePoint {
  Position at{};
  std::optional<Bytes> size{};  // by the convention of nccl-tests
  std::optional<Duration> time{};
  std::optional<Rate> bus_bandwidth{};
};

struct CollectiveTable {
  MeasuredOrigin origin{};
  JsonValue cluster{};  // as in a scenario
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  std::string algorithm{};  // pinned or stated: ring, nvls, sharp; empty: NCCL's choice
  std::vector<CollectivePoint> points{};
};

enum class DeviceQuantity : std::uint8_t {
  gemm,
  gemm_limit,
  grouped_gemm,  // of experts: one product of the same shape per group, in one kernel
  attention,
  sequence_parallel_attention,
  memory,
  launch,
  memory_bound,  // kernels that only move memory, as a software stack has them
};

/// One measurement of a device; which fields are set depends on the kind of table.
struct DevicePoint {
  Position at{};
  std::int64_t groups = 1;
  std::int64_t m = 0;  // of a group
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t seq = 0;
  std::int64_t batch = 0;
  std::int64_t ulysses = 0;
  std::int64_t ring = 0;
  std::string ring_layout{};
  bool packed = false;
  Bytes moved{};     // of a memory-bound kernel: each tensor read or written once
  std::string op{};  // of memory: "device-to-device copy"
  std::optional<Duration> time{};
  std::optional<FlopRate> rate{};
  std::optional<Rate> bandwidth{};
};

struct DeviceTable {
  MeasuredOrigin origin{};
  DeviceQuantity kind = DeviceQuantity::gemm;
  std::string gpu{};
  std::string precision{};       // empty: unknown
  std::string implementation{};  // of attention: flash-2, unfused, ...
  bool backward = false;         // forward plus backward
  bool causal = false;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;
  std::int64_t value_head_size = 0;
  std::string stack{};  // of memory-bound kernels: software stack and operation
  OperationKind operation = OperationKind::add;
  std::vector<DevicePoint> points{};
};

using Measured = std::variant<MeasuredRun, CollectiveTable, DeviceTable>;

[[nodiscard]] inline const MeasuredOrigin& origin_of(const Measured& measured) {
  return std::visit([](const auto& each) -> const MeasuredOrigin& { return each.origin; },
                    measured);
}

}  // namespace lockstep
