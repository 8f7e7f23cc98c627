#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.hpp"

namespace lockstep {

struct VerifiedTrainingStep {
  double loss = 0;
  double reference = 0;
};

/// Where what ranks hold differs most from the reference, by what is allowed there.
struct VerifiedDifference {
  double value = 0;
  double allowed = 0;
  std::string tensor;        // "mlp.up.weight"
  std::string copy;          // what is held of it, such as a shard or a master copy
  int position = 0;          // in the chain of blocks
  int rank = 0;              // hosts: ranks of the mesh + their number
  std::string holder;        // "rank 3", "host 0"
  std::int64_t element = 0;  // in the whole tensor

  [[nodiscard]] bool is_allowed() const { return value <= allowed; }
};

/// "mlp.up.weight of block 1 on rank 3 differs by 0.25 at element 7; 1e-10 is allowed".
[[nodiscard]] std::string text_of(const VerifiedDifference& difference);

/// A step executed in the order, and with the room, that the simulation says.
struct VerifiedOrder {
  std::int64_t operations = 0;  // of all ranks
  Bytes peak;                   // of the device of the fullest rank
  int fullest = 0;
  std::string problem;  // the first difference; empty: none
};

/// Result of executing a strategy and its reference.
struct VerificationReport {
  double tolerance = 0;  // weights may differ by more where Adam divides rounding (WeightBound)
  std::vector<VerifiedTrainingStep> steps{};
  VerifiedDifference weight{};
  std::optional<VerifiedDifference> state{};  // of the optimizer; none: it has none
  std::string error;        // why a step did not end, or what is missing; empty: nothing
  std::string first_wrong;  // the operation that first wrote what one device has otherwise
  /// Of parameter averaging, which is not what one device does: the largest difference of a weight.
  std::optional<double> from_one_device{};
  std::optional<VerifiedOrder> order{};
  int replicas = 0;  // ranks that got their weights from another one, in the beginning
  std::vector<std::string> collectives{};  // "dp: all_reduce among 8 by ring"
  std::int64_t operations = 0;             // executed, of all ranks and steps

  [[nodiscard]] bool passed() const;
  /// The first thing that is wrong, with its place; empty where nothing is.
  [[nodiscard]] std::string problem() const;
};

}  // namespace lockstep
