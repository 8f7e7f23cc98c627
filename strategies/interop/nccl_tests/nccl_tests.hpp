#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/config_error.hpp"

/// What NVIDIA's nccl-tests (and AMD's rccl-tests) print: measured times of a collective by size.
/// Source of the forms: NVIDIA/nccl-tests, src/common.cu and src/util.cu.
namespace lockstep {

/// One half of a row.
struct NcclMeasurement {
  Duration time;              // mean over the iterations
  double algbw_gb_per_s = 0;  // 1e9 bytes
  double busbw_gb_per_s = 0;
  std::optional<double> wrong;  // wrong elements, or in old versions the largest error;
                                // none: it was not checked
};

struct NcclRow {
  Bytes size;
  std::int64_t count = 0;  // elements
  std::string type;        // such as "float"
  std::string redop;       // empty where the version prints none
  int root = -1;           // -1: none
  std::optional<NcclMeasurement> out_of_place;
  std::optional<NcclMeasurement> in_place;
  Position at;

  /// Whether the results were right, as far as they were checked: no more wrong than the tolerance
  /// of the type, which is none for integers and for counts of elements.
  [[nodiscard]] bool is_valid(const std::optional<NcclMeasurement>& half) const;
  [[nodiscard]] bool is_valid() const { return is_valid(out_of_place) && is_valid(in_place); }
};

struct NcclDevice {
  int rank = 0;
  std::string host;
  int device = 0;    // on its host
  std::string name;  // such as "NVIDIA A100-SXM4-40GB"
};

/// One run. What the output does not say is empty.
struct NcclRun {
  std::string label;       // a line "NCCL:" before the rows
  std::string collective;  // by our names, such as "all_reduce"
  std::string version;     // of nccl-tests
  std::optional<int> threads;
  std::optional<int> gpus_per_thread;
  std::vector<NcclDevice> devices;  // one per rank
  std::vector<NcclRow> rows;
  std::optional<double> average_busbw_gb_per_s;
  std::optional<int> communicator_ranks;  // as NCCL's own log says ("nranks 16")
  std::size_t skipped_lines = 0;  // that are neither rows nor of nccl-tests, NCCL or a shell's time
  bool cut_row = false;           // the text ends within its last row, which was left out

  /// Whether `devices` has every rank, from 0 on.
  [[nodiscard]] bool names_all_ranks() const;
};

inline constexpr std::size_t kLargestNcclLog = std::size_t{256} << 20U;  // bytes

/// Reads the text form or, where it begins with "{", the JSON form (`-J`). Several runs may follow
/// one another in a text. Lines that begin with "#" and NCCL's own log lines are ignored as far
/// as they say nothing that is wanted; so are colours and what launchers and log collectors put
/// before lines (nccl_tests_lines.hpp). Lines that nobody knows are counted in the run that they
/// stand in, and so is a row in which the text ends. `file` is the name that errors carry. Throws
/// ConfigError with every line that looks like a row and is none, by line and column, and where
/// there are no rows.
[[nodiscard]] std::vector<NcclRun> parse_nccl_tests(std::string_view text, std::string file);

/// The same from a file; ConfigError also where it is missing, a directory or not readable.
[[nodiscard]] std::vector<NcclRun> read_nccl_tests(const std::filesystem::path& path);

}  // namespace lockstep
