#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/program/tensor.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_form.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// Traffic that a stack's software hides, by the layouts for which it does.
struct OverlapDefaults {
  std::set<Overlap> always{};
  std::set<Overlap> sharded{};      // ZeRO-1 to -3
  std::set<Overlap> interleaved{};  // several chunks per pipeline stage
  std::set<Overlap> ring{};         // ring attention
};

/// Size of gradient buckets: in bytes, or in elements, `elements_per_replica` for each of the
/// replicas that sum them if that is more.
struct BucketDefaults {
  std::optional<Bytes> size{};
  std::int64_t elements = 0;
  std::int64_t elements_per_replica = 0;
  std::optional<Bytes> first{};
  bool whole_without_overlap = false;
  bool whole_chunks = false;
};

/// Properties of training software: implementations of attention, fusion, host time per kernel
/// (configs/stacks/*.json, schema configs/schema/stack.schema.json).
struct SoftwareStack {
  std::string id;  // the file's name without .json
  std::string name;
  std::string use{};  // which runs it is for
  /// Implementations of fused attention, the preferred one first.
  std::vector<std::string> attention{};
  std::array<KindFigures, kOperationKinds> kinds{};
  KindFigures bias{0, 0};
  std::optional<KindFigures> joined_bias{};
  std::optional<KindFigures> joined_dropout{};
  KindFigures gradient_sum{0, 0};
  HostWait host_waits_for = HostWait::nothing;
  Duration host_time{};
  ModelForm form{};
  std::string fp8 = "fp8-tensorwise";  // recipe of precision fp8, a file of configs/precisions
  /// Default precision in which gradients are kept and reduced, by that of the weights; none: the
  /// same.
  std::map<Dtype, Dtype> gradients{};
  /// ZeRO-3: precision in which shards of weights and gradients are kept; none: that of both.
  std::optional<Dtype> shards{};
  /// Passes over gradients of ZeRO-0 and -1.
  std::set<GradientPass> gradient_passes{};
  /// Default for ZeRO-0 and -1; none: 25 MB.
  std::optional<BucketDefaults> bucket{};
  /// Default for ZeRO-1: whether gradients are reduce-scattered.
  bool scatter_gradients = true;
  /// Default for ZeRO-2 and ZeRO-3: when gradients are reduced; none: unsupported.
  std::optional<GradientReduction> reduction_without_pipeline = GradientReduction::every_microbatch;
  std::optional<GradientReduction> reduction_with_pipeline = GradientReduction::last_microbatch;
  /// Default for reductions into shards in every microbatch: when replicas of shards are summed.
  GradientReduction replicas_reduction = GradientReduction::last_microbatch;
  /// Along tp ranks send gradients to the stage before in parts.
  bool gradient_messages_in_parts = true;
  /// Whether Overlap::ep_pairs goes with recomputation of experts.
  bool pairs_recompute_experts = true;
  /// Of experts without a capacity.
  TokenCounts token_counts{};
  /// Traffic that is overlapped, unless a scenario specifies it.
  OverlapDefaults overlap{};
  std::string nccl = "2.30";  // version of the tuning in configs/nccl
  std::vector<FigureSource> sources{};
};

/// A file that `extends` another of its folder, or a shipped one of `configs`, only contains
/// differences. Throws ConfigError with every problem of the file.
[[nodiscard]] SoftwareStack load_software_stack(const std::filesystem::path& path,
                                                const std::filesystem::path& configs = {});

/// The same from a document in memory.
[[nodiscard]] SoftwareStack read_software_stack(const JsonDocument& document, std::string id,
                                                const std::filesystem::path& configs = {});

/// configs/schema/stack.schema.json.
[[nodiscard]] JsonValue stack_schema();

/// Ids of the stacks in a folder (names of its .json files), sorted. Throws ConfigError if the
/// folder cannot be read.
[[nodiscard]] std::vector<std::string> software_stack_ids(const std::filesystem::path& folder);

/// The file of a stack: one of the folder by its id, or any by its path.
[[nodiscard]] std::filesystem::path software_stack_file(const std::filesystem::path& folder,
                                                        const std::string& stack);

/// The stack with an id in a folder, or of a file with this path. Throws ConfigError with a
/// suggestion if there is none.
[[nodiscard]] SoftwareStack find_software_stack(const std::filesystem::path& folder,
                                                const std::string& id);

}  // namespace lockstep
