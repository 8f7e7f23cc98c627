#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "sim/schedule/schedule.hpp"
#include "strategies/interop/msccl/msccl_program.hpp"

namespace lockstep {

/// A run of chunks in a GPU's memory, before scratch is laid out.
struct MscclRun {
  enum class Where : std::uint8_t {
    input,
    output,
    scratch,       // the schedule's own
    spare_data,    // blocks of data and output that are neither input nor
    spare_output,  // output of the program
    staging,       // of one thread block, for gathered or just arrived data
    deferred,      // for data that another thread block adds
  };
  Where where = Where::input;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Maps a schedule's blocks to the buffers of an MSCCL program; the inverse of MscclLayout.
class MscclPlaces {
 public:
  MscclPlaces(const Contract& contract);

  [[nodiscard]] bool in_place() const { return contract_.result == Buffer::data; }
  [[nodiscard]] std::int64_t input_chunks() const;
  [[nodiscard]] std::int64_t output_chunks() const;

  /// The runs that contain these chunks of `rank`, neighbors merged.
  [[nodiscard]] std::vector<MscclRun> runs(int rank, std::span<const Chunk> chunks) const;

 private:
  void add(int rank, Chunk chunk, std::vector<MscclRun>& runs) const;
  /// Splits at the boundaries of the rank's own part; the rest goes to `spare`.
  void add_parted(int rank, Chunk chunk, MscclRun::Where own, MscclRun::Where spare,
                  std::vector<MscclRun>& runs) const;

  Contract contract_;
};

}  // namespace lockstep
