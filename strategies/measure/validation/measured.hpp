#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json.hpp"
#include "sim/schedule/contract.hpp"

/// What real machines did, as files of measured results say it
/// (configs/schema/measured.schema.json; SI units in the names of the keys). What a file does not
/// say is not known.
namespace lockstep {

/// What every row and every table has.
struct MeasuredOrigin {
  std::string file{};
  Position at{};
  std::string id{};
  std::string source{};                // citation
  std::vector<std::string> assumed{};  // fields that the source does not print
  std::string notes{};
};

/// One training run.
struct MeasuredRun {
  MeasuredOrigin origin{};
  std::string group{};  // rows of one source and one convention
  bool core = false;    // of the short suite
  /// The parts of a scenario that it says, with their places in the file.
  JsonValue cluster{};
  JsonValue model{};
  JsonValue parallel{};
  std::string stack{};  // software stack that the row names; empty: by rule (stack_rule.hpp)
  // What the rules look at.
  std::string gpu{};
  std::string attention{};  // flash, unfused; empty: not said
  std::string precision{};  // of GEMMs; empty: not said
  // What was measured.
  std::optional<Duration> step_time{};
  std::optional<Duration> layer_forward{};   // of one layer and microbatch
  std::optional<Duration> layer_backward{};  // likewise, what is recomputed included
  std::optional<Bytes> peak_memory{};        // of the worst rank
  bool memory_is_reserved = false;           // by the allocator, beyond what tensors hold
};

/// A message size and how long it took, or the bus bandwidth that large messages reach.
struct CollectivePoint {
  Position at{};
  std::optional<Bytes> size{};  // as nccl-tests counts it
  std::optional<Duration> time{};
  std::optional<Rate> bus_bandwidth{};
};

struct CollectiveTable {
  MeasuredOrigin origin{};
  JsonValue cluster{};  // the part of a scenario
  Collective collective = Collective::all_reduce;
  int ranks = 1;
  std::string algorithm{};  // that was pinned or is stated: ring, nvls, sharp; empty: NCCL's choice
  std::vector<CollectivePoint> points{};
};

enum class DeviceQuantity : std::uint8_t {
  gemm,
  gemm_limit,
  attention,
  sequence_parallel_attention,
  memory,
  launch,
};

/// One figure of a device; by kind of table only some fields are known.
struct DevicePoint {
  Position at{};
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t seq = 0;
  std::int64_t batch = 0;
  std::int64_t ulysses = 0;
  std::int64_t ring = 0;
  std::string ring_layout{};
  bool packed = false;
  std::string op{};  // of memory: "device-to-device copy"
  std::optional<Duration> time{};
  std::optional<FlopRate> rate{};
  std::optional<Rate> bandwidth{};
};

struct DeviceTable {
  MeasuredOrigin origin{};
  DeviceQuantity kind = DeviceQuantity::gemm;
  std::string gpu{};
  std::string precision{};       // empty: not said
  std::string implementation{};  // of attention: flash-2, unfused, ...
  bool backward = false;         // forward and backward together
  bool causal = false;
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  std::vector<DevicePoint> points{};
};

using Measured = std::variant<MeasuredRun, CollectiveTable, DeviceTable>;

[[nodiscard]] inline const MeasuredOrigin& origin_of(const Measured& measured) {
  return std::visit([](const auto& each) -> const MeasuredOrigin& { return each.origin; },
                    measured);
}

}  // namespace lockstep
