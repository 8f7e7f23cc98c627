#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/json/json.hpp"
#include "strategies/nccl/tuning_data.hpp"

namespace lockstep {

/// Reads the tuning of one version of NCCL (configs/nccl/*.json, schema
/// configs/schema/nccl-tuning.schema.json). A file that `extends` another of its folder only
/// contains differences. Measured costs of configs/calibration/collectives.json, if present next to
/// the folder, are appended to `costs`. Throws ConfigError with every problem of a file.
[[nodiscard]] NcclTuning load_nccl_tuning(const std::filesystem::path& path,
                                          std::vector<NcclCost> costs = {});

/// The same from a document in memory; `folder` contains the file that it extends.
[[nodiscard]] NcclTuning read_nccl_tuning(const JsonDocument& document, std::string id,
                                          const std::filesystem::path& folder);

/// configs/schema/nccl-tuning.schema.json.
[[nodiscard]] JsonValue nccl_tuning_schema();

/// Ids of the tunings in a folder (names of its .json files), sorted. Throws ConfigError if the
/// folder cannot be read.
[[nodiscard]] std::vector<std::string> nccl_tuning_ids(const std::filesystem::path& folder);

}  // namespace lockstep
