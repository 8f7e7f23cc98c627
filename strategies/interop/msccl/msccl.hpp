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

/// Reads MSCCL algorithms: XML files of msccl-tools, of the collections of MSCCL and RCCL, of TACCL
/// and TE-CCL.
namespace lockstep {

struct MscclOptions {
  /// In-flight messages per connection. Default: the file's attribute `slots`, which Lockstep's
  /// export writes, else the protocol's: NCCL's buffers hold eight steps, of which a chunk takes
  /// one with LL and LL128 and four in a ring with Simple (nccl 2.19, NCCL_STEPS in
  /// src/include/device.h, ALLREDUCE_CHUNKSTEPS in src/include/collectives.h).
  std::optional<int> slots;
};

struct MscclImport {
  std::shared_ptr<const MscclSchedule> schedule;
  std::optional<Collective> collective;  // none: the file does not specify the result
  int ranks = 0;
  int root = 0;      // of rooted collectives
  int distance = 1;  // of send_recv
  std::string name;
  std::string protocol;
  int channels = 0;
  std::int64_t chunks_per_loop = 0;         // into which one loop divides the message
  std::optional<std::int64_t> min_bytes{};  // intended message sizes
  std::optional<std::int64_t> max_bytes{};  // none: no limit
  bool in_place = false;
  std::vector<std::string> notes;  // for the user; sentences without a full stop

  /// The contract of the schedule, if the collective is known.
  [[nodiscard]] std::optional<Contract> contract() const;
};

/// Errors name `file`. Throws ConfigError with every problem, with line and column; unknown
/// attributes are ignored.
[[nodiscard]] MscclImport parse_msccl(std::string_view text, const std::string& file,
                                      const MscclOptions& options = {});

/// The same from a file; ConfigError also if it is missing, a directory or unreadable.
[[nodiscard]] MscclImport read_msccl(const std::filesystem::path& path,
                                     const MscclOptions& options = {});

}  // namespace lockstep
