#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "sim/schedule/schedule.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

namespace lockstep {

/// A run of chunks of a GPU's memory, before it is decided where in scratch things lie.
struct MscclRun {
  enum class Where : std::uint8_t {
    input,
    output,
    scratch,       // the schedule's own
    spare_data,    // blocks of data and output for which the program has neither input nor
    spare_output,  // output
    staging,       // of one tb, for what is gathered or has just arrived
    deferred,      // for what another tb adds
  };
  Where where = Where::input;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Where a schedule's blocks lie in the buffers of an MSCCL program: the way back from MscclLayout.
class MscclPlaces {
 public:
  MscclPlaces(const Contract& contract);

  [[nodiscard]] bool in_place() const { return contract_.result == Buffer::data; }
  [[nodiscard]] std::int64_t input_chunks() const;
  [[nodiscard]] std::int64_t output_chunks() const;

  /// The runs that hold these chunks of `rank`, neighbours put together.
  [[nodiscard]] std::vector<MscclRun> runs(int rank, std::span<const Chunk> chunks) const;

 private:
  void add(int rank, Chunk chunk, std::vector<MscclRun>& runs) const;
  /// Cut where the rank's own part begins and ends; what lies outside goes to `spare`.
  void add_parted(int rank, Chunk chunk, MscclRun::Where own, MscclRun::Where spare,
                  std::vector<MscclRun>& runs) const;

  Contract contract_;
};

}  // namespace lockstep
