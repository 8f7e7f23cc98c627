#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/json.hpp"
#include "strategies/nccl/tuning_data.hpp"

namespace lockstep {

/// Reads the tuning of one version of NCCL (configs/nccl/*.json, schema
/// configs/schema/nccl-tuning.schema.json). A file that `extends` another of its folder says only
/// what differs. With it come the measured costs of configs/calibration/collectives.json, where
/// there is such a file next to the tuning's folder, after `costs`. Throws ConfigError with
/// everything that is wrong with a file.
[[nodiscard]] NcclTuning load_nccl_tuning(const std::filesystem::path& path,
                                          std::vector<NcclCost> costs = {});

/// The same from a document in memory; `folder` is where the file that it extends lies.
[[nodiscard]] NcclTuning read_nccl_tuning(const JsonDocument& document, std::string id,
                                          const std::filesystem::path& folder);

/// The ids of the tunings in a folder (names of its .json files), sorted.
/// Throws ConfigError where it cannot be read.
[[nodiscard]] std::vector<std::string> nccl_tuning_ids(const std::filesystem::path& folder);

}  // namespace lockstep
