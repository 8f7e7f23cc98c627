#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/contract.hpp"
#include "strategies/interop/text/xml_document.hpp"

/// An MSCCL algorithm as in its file (msccl-tools' XML; Cowan et al. 2023): GPUs, their thread
/// blocks (tb), each with at most one send and one receive connection, and the steps that a thread
/// block executes in order.
namespace lockstep {

/// Limit for buffers and steps, far above MSCCL's own.
inline constexpr std::int64_t kMostMscclChunks = std::int64_t{1} << 20U;

enum class MscclOperation : std::uint8_t {
  send,                      // source
  receive,                   // into destination
  receive_copy_send,         // into destination, then sends it
  receive_reduce_send,       // sends received data plus source, keeps nothing
  receive_reduce_copy,       // destination = source + received data
  receive_reduce_copy_send,  // the same, then sends destination
  copy,                      // destination = source
  reduce,                    // destination += source
  add_residual,              // RCCL's; read as reduce
  nop,                       // only dependencies
};
inline constexpr std::array<std::string_view, 10> kMscclOperationNames{
    "s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "ra", "nop"};

[[nodiscard]] constexpr std::string_view to_string(MscclOperation operation) {
  return kMscclOperationNames[static_cast<std::size_t>(operation)];
}
[[nodiscard]] bool sends(MscclOperation operation);
[[nodiscard]] bool receives(MscclOperation operation);
[[nodiscard]] bool has_source(MscclOperation operation);
[[nodiscard]] bool has_destination(MscclOperation operation);

enum class MscclBuffer : std::uint8_t { input, output, scratch };
inline constexpr std::array<std::string_view, 3> kMscclBufferNames{"i", "o", "s"};

struct MscclOperand {
  MscclBuffer buffer = MscclBuffer::input;
  std::int32_t offset = 0;  // chunks
};

struct MscclStep {
  MscclOperation operation = MscclOperation::nop;
  bool has_dependents = false;  // hasdep
  MscclOperand source;          // if the operation has one
  MscclOperand destination;
  std::int32_t count = 0;          // chunks
  std::int32_t waits_for_tb = -1;  // depid; -1: none
  std::int32_t waits_for_step = -1;
  std::int32_t id = -1;
  Position at;
};

struct MscclThreadBlock {
  std::int32_t id = -1;
  int send = -1;  // GPU it sends to; -1: none
  int receive = -1;
  int channel = 0;
  std::vector<MscclStep> steps;  // by id, from 0 without gaps
  Position at;
};

struct MscclGpu {
  std::int32_t id = -1;
  std::int32_t input_chunks = 0;
  std::int32_t output_chunks = 0;
  std::int32_t scratch_chunks = 0;
  std::vector<MscclThreadBlock> blocks;  // by id, from 0 without gaps
  Position at;
};

struct MscclProgram {
  std::string name;
  std::string protocol;    // Simple, LL or LL128
  std::string collective;  // one of msccl_collectives()
  int channels = 1;
  std::optional<std::int32_t> chunks_per_loop;
  std::optional<bool> in_place;
  std::optional<bool> out_of_place;
  std::optional<std::int64_t> min_bytes;
  std::optional<std::int64_t> max_bytes;  // none: no limit, also if the file has 0
  std::int64_t ignored_copies = 0;        // elements <copy>, which RCCL ignores too
  int root = 0;
  std::vector<MscclGpu> gpus;  // by id, from 0 without gaps
  Position at;

  // Extensions of Lockstep.
  std::optional<Collective> our_collective;  // if MSCCL has no name for it
  int distance = 1;                          // of send_recv
  std::optional<int> slots;
};

/// "gpu 3, tb 2, step 5 (rrc)".
[[nodiscard]] std::string name_of(const MscclGpu& gpu, const MscclThreadBlock& block,
                                  const MscclStep& step);

/// Reads each element individually: names, number ranges, contiguous ids. Throws ConfigError with
/// every problem.
[[nodiscard]] MscclProgram read_msccl_program(std::string_view text, const std::string& file);

}  // namespace lockstep
