#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

/// The files of one set of traces, rank by rank.
struct ChakraFiles {
  std::vector<std::filesystem::path> files;
  bool json = false;  // else protobuf
};

/// Finds PREFIX.0.et, PREFIX.1.et, ... (or .json): `path` is PREFIX, one of the files, or a folder
/// with one such set. Throws ConfigError if there is none, several, or a rank is missing.
[[nodiscard]] ChakraFiles find_chakra_files(const std::filesystem::path& path);

}  // namespace lockstep
