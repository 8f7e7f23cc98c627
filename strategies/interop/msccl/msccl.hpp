#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/interop/msccl/msccl_schedule.hpp"

/// Reads MSCCL algorithms: the XML of msccl-tools, of MSCCL's and RCCL's own collections and of
/// TACCL and TE-CCL.
namespace lockstep {

struct MscclOptions {
  /// Messages that a connection holds between its ends. Without it the file's own attribute
  /// `slots`, which our export writes, and without that what the protocol has: NCCL's buffers hold
  /// eight steps; LL and LL128 put a chunk into one, the ring of Simple into four (nccl 2.19,
  /// NCCL_STEPS in src/include/device.h, ALLREDUCE_CHUNKSTEPS in src/include/collectives.h).
  std::optional<int> slots;
};

struct MscclImport {
  std::shared_ptr<const MscclSchedule> schedule;
  std::optional<Collective> collective;  // none: nothing says what the result should be
  int ranks = 0;
  int root = 0;      // of a collective that has one
  int distance = 1;  // of send_recv
  std::string name;
  std::string protocol;
  int channels = 0;
  std::int64_t chunks_per_loop = 0;         // into which one pass divides the message
  std::optional<std::int64_t> min_bytes{};  // sizes that the file is meant for
  std::optional<std::int64_t> max_bytes{};  // none: no limit
  bool in_place = false;
  std::vector<std::string> notes;  // what a user should know; sentences without a full stop

  /// What the schedule has to keep, where it is known.
  [[nodiscard]] std::optional<Contract> contract() const;
};

/// `file` is the name that errors carry. Throws ConfigError with every problem, its line and its
/// column; unknown attributes are ignored.
[[nodiscard]] MscclImport parse_msccl(std::string_view text, const std::string& file,
                                      const MscclOptions& options = {});

/// The same from a file; ConfigError also where it is missing, a directory or not readable.
[[nodiscard]] MscclImport read_msccl(const std::filesystem::path& path,
                                     const MscclOptions& options = {});

}  // namespace lockstep
