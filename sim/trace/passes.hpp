#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/program/timeline.hpp"

/// A rank's computation by pass: what one microbatch goes through on one model chunk.
namespace lockstep {

struct Pass {
  enum class Kind : std::uint8_t {
    forward,
    backward,        // input and weight gradients together
    input_gradient,  // of schedules that split the backward pass
    weight_gradient,
    update,  // of weights: the optimizer; microbatch and chunk are 0
  };
  Kind kind = Kind::forward;
  int microbatch = 0;
  int chunk = 0;           // of the model chunks on the rank, in the order of the model
  Interval interval;       // from the first computation to the last, whatever lies between
  Duration recomputation;  // of activations within a backward pass
};
[[nodiscard]] std::string_view to_string(Pass::Kind kind);

/// Consecutive computation of the compute stream with the same kind, microbatch and chunk is a
/// pass. Chunks are stretches of neighboring positions. Computation that takes no time is left out.
/// Errors: InternalError where role and rank differ in length.
[[nodiscard]] std::vector<Pass> passes(const RoleProgram& role, const RankTimeline& rank);

/// Whether an operation is of a kind that passes are made of, taking time or not.
[[nodiscard]] bool belongs_to_pass(const RoleProgram& role, const RoleOperation& operation);

}  // namespace lockstep
