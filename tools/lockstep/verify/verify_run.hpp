#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/cuda/plan/device_numbers.hpp"
#include "sim/units.hpp"
#include "strategies/collectives/spec.hpp"
#include "strategies/formats/msccl.hpp"
#include "tools/lockstep/output.hpp"

namespace lockstep::cli {

/// A schedule that somebody else wrote, and what it is to be held to.
struct ImportedSchedule {
  std::string file;
  MscclImport import;
  Collective collective = Collective::all_reduce;
};

/// What `lockstep verify collective` is asked.
struct VerifyQuestion {
  std::vector<AlgorithmSpec> algorithms;
  std::vector<ImportedSchedule> schedules;
  std::vector<int> ranks;  // for algorithms
  int ranks_per_node = 1;
  std::vector<int> dimensions{};  // of a torus of as many ranks as they multiply to
  int root = 0;
  bool every_root = false;
  std::optional<std::int64_t> count{};  // elements of the message; none: three a block, one missing
  std::optional<int> slots{};           // none: each schedule's own
  std::uint64_t seed = 1;
  /// Who moves the numbers; null: the host executor. Must outlive the run.
  Backend* device = nullptr;
  DeviceNumbers numbers{};
};

struct VerifyAnswer {
  Report report;
  std::string refusal;  // the first thing that is wrong; empty where all is right
};

/// Verifies every algorithm for every number of ranks and every root. Throws UsageError where not
/// one of them can be had so.
[[nodiscard]] VerifyAnswer run_verify(const VerifyQuestion& question);

}  // namespace lockstep::cli
