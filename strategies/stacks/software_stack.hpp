#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/json.hpp"
#include "sim/cost/device_model.hpp"
#include "sim/program/tensor.hpp"
#include "strategies/layout/parallel_config.hpp"
#include "strategies/models/model_form.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// What the training software makes of a model: which implementation of attention, what is fused,
/// what the host spends on a kernel. One JSON file each (configs/stacks/*.json, schema
/// configs/schema/stack.schema.json).
struct SoftwareStack {
  std::string id;  // the file's name without .json
  std::string name;
  /// Implementations of fused attention, the preferred one first.
  std::vector<std::string> attention{};
  std::array<KindFigures, kOperationKinds> kinds{};
  KindFigures bias{0, 0};
  KindFigures fp8_casts{0, 0};
  KindFigures gradient_sum{0, 0};
  HostWait host_waits_for = HostWait::nothing;
  Duration host_time{};
  ModelForm form{};
  /// What gradients are kept and exchanged in, unless a scenario says so; none: as the weights.
  std::optional<Dtype> gradients{};
  /// ZeRO-1: whether ranks get their shards of the gradients' sum alone, unless a scenario says so.
  bool scatter_gradients = true;
  /// ZeRO-2 and -3: when gradients are reduced, unless a scenario says so; none: refused.
  std::optional<GradientReduction> reduction_without_pipeline = GradientReduction::every_microbatch;
  std::optional<GradientReduction> reduction_with_pipeline = GradientReduction::last_microbatch;
  std::string nccl = "2.30";  // whose tuning its collectives go by, of configs/nccl
  std::vector<FigureSource> sources{};
};

/// Throws ConfigError with everything that is wrong with the file.
[[nodiscard]] SoftwareStack load_software_stack(const std::filesystem::path& path);

/// The same from a document in memory.
[[nodiscard]] SoftwareStack read_software_stack(const JsonDocument& document, std::string id);

/// The ids of the stacks in a folder (names of its .json files), sorted.
/// Throws ConfigError where it cannot be read.
[[nodiscard]] std::vector<std::string> software_stack_ids(const std::filesystem::path& folder);

/// The stack of that id in a folder. Throws ConfigError also if there is none such, with the
/// nearest name.
[[nodiscard]] SoftwareStack find_software_stack(const std::filesystem::path& folder,
                                                const std::string& id);

}  // namespace lockstep
