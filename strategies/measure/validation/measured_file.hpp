#pragma once

#include <filesystem>
#include <vector>

#include "strategies/measure/validation/measured.hpp"

/// Reads files of measured results: JSON arrays of training runs, collective tables and device
/// tables. An element's keys tell its form: a table of a collective has `collective`, one of a
/// device `kind`, a training run neither.
namespace lockstep {

/// In the order of the file. Throws ConfigError with everything that is wrong with it: unknown and
/// missing keys, wrong types, ids that are there twice.
[[nodiscard]] std::vector<Measured> read_measured(const JsonDocument& document);

/// The same from a file.
[[nodiscard]] std::vector<Measured> load_measured(const std::filesystem::path& path);

/// Several files one after the other; all problems are reported at once.
[[nodiscard]] std::vector<Measured> load_measured(const std::vector<std::filesystem::path>& paths);

}  // namespace lockstep
