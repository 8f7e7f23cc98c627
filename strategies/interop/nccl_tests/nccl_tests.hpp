#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/json/config_error.hpp"

/// Output of NVIDIA's nccl-tests (and AMD's rccl-tests): measured times of a collective by size.
/// Source of the formats: NVIDIA/nccl-tests, src/common.cu and src/util.cu.
namespace lockstep {

/// One half of a row.
struct NcclMeasurement {
  Duration time;              // mean over the iterations
  double algbw_gb_per_s = 0;  // 1e9 bytes
  double busbw_gb_per_s = 0;
  std::optional<double> wrong;  // wrong elements, or in old versions the largest error;
                                // none: not checked
};

struct NcclRow {
  Bytes size;
  std::int64_t count = 0;  // elements
  std::string type;        // such as "float"
  std::string redop;       // empty if the version prints none
  int root = -1;           // -1: none
  std::optional<NcclMeasurement> out_of_place;
  std::optional<NcclMeasurement> in_place;
  Position at;

  /// Whether a half passed its check: wrong elements within the type's tolerance, which is zero for
  /// integers and element counts.
  [[nodiscard]] bool is_valid(const std::optional<NcclMeasurement>& half) const;
  [[nodiscard]] bool is_valid() const { return is_valid(out_of_place) && is_valid(in_place); }
};

struct NcclDevice {
  int rank = 0;
  std::string host;
  int device = 0;    // on its host
  std::string name;  // such as "NVIDIA A100-SXM4-40GB"
};

/// One run. Fields absent from the output are empty.
struct NcclRun {
  std::string label;       // a line "NCCL:" before the rows
  std::string collective;  // Lockstep's name, such as "all_reduce"
  std::string version;     // of nccl-tests
  std::optional<int> threads;
  std::optional<int> gpus_per_thread;
  std::vector<NcclDevice> devices;  // one per rank
  std::vector<NcclRow> rows;
  std::optional<double> average_busbw_gb_per_s;
  std::optional<int> communicator_ranks;  // from NCCL's own log ("nranks 16")
  std::size_t skipped_lines = 0;          // not from nccl-tests, NCCL or a shell's time
  bool cut_row = false;                   // its last row ends early and is dropped

  /// Whether `devices` lists every rank, from 0 on.
  [[nodiscard]] bool names_all_ranks() const;
};

inline constexpr std::size_t kLargestNcclLog = std::size_t{256} << 20U;  // bytes

/// Reads text output or, if it starts with "{", JSON output (`-J`). A text may contain several
/// runs. Comment lines ("#") and NCCL's log lines are ignored unless they contain wanted fields;
/// colors and prefixes of launchers and log collectors are removed (nccl_tests_lines.hpp). Unknown
/// lines are counted in their run, as is a truncated last row. Errors name `file`. Throws
/// ConfigError with every malformed row, with line and column, and if there are no rows.
[[nodiscard]] std::vector<NcclRun> parse_nccl_tests(std::string_view text, std::string file);

/// The same from a file; ConfigError also if it is missing, a directory or unreadable.
[[nodiscard]] std::vector<NcclRun> read_nccl_tests(const std::filesystem::path& path);

}  // namespace lockstep
