#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/program/timeline.hpp"

/// A rank's computation by pass: one microbatch on one model chunk.
namespace lockstep {

struct Pass {
  enum class Kind : std::uint8_t {
    forward,
    backward,        // both gradients
    input_gradient,  // if the schedule splits backward
    weight_gradient,
    update,  // optimizer; microbatch and chunk are 0
  };
  Kind kind = Kind::forward;
  int microbatch = 0;
  int chunk = 0;           // index among the rank's model chunks, in order of the model
  Interval interval;       // from the first to the last computation
  Duration recomputation;  // of activations within a backward pass
};
[[nodiscard]] std::string_view to_string(Pass::Kind kind);

/// Consecutive computation of the compute stream with the same kind, microbatch and chunk is one
/// pass. Chunks are ranges of adjacent positions. Computation without duration is omitted. Throws
/// InternalError if role and rank differ in length.
[[nodiscard]] std::vector<Pass> passes(const RoleProgram& role, const RankTimeline& rank);

/// Whether passes consist of this kind of operation, even without duration.
[[nodiscard]] bool belongs_to_pass(const RoleProgram& role, const RoleOperation& operation);

}  // namespace lockstep
