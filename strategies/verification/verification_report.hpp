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

/// The largest difference from the reference, relative to its tolerance.
struct VerifiedDifference {
  double value = 0;
  double allowed = 0;
  std::string tensor;        // "mlp.up.weight"
  std::string copy;          // which copy, such as a shard or a master copy
  int position = 0;          // in the chain of blocks
  int rank = 0;              // hosts: ranks of the mesh + host number
  std::string holder;        // "rank 3", "host 0"
  std::int64_t element = 0;  // in the whole tensor

  [[nodiscard]] bool is_allowed() const { return value <= allowed; }
};

/// "mlp.up.weight of block 1 on rank 3 differs by 0.25 at element 7; 1e-10 is allowed".
[[nodiscard]] std::string text_of(const VerifiedDifference& difference);

/// A step executed in the simulated order and memory.
struct VerifiedOrder {
  std::int64_t operations = 0;  // over all ranks
  Bytes peak;                   // device memory of the rank that uses most
  int fullest = 0;
  std::string problem;  // the first difference; empty: none
};

/// Result of executing a strategy and its reference.
struct VerificationReport {
  double tolerance = 0;  // weights may differ more where Adam amplifies rounding (WeightBound)
  std::vector<VerifiedTrainingStep> steps{};
  VerifiedDifference weight{};
  std::optional<VerifiedDifference> state{};  // of the optimizer; none if it has no state
  std::string error;                          // why a step did not complete; empty: none
  std::string first_wrong;  // the first operation whose result differs from one device's
  /// Parameter averaging differs from one device: the largest difference of a weight.
  std::optional<double> from_one_device{};
  std::optional<VerifiedOrder> order{};
  int replicas = 0;                        // ranks that received initial weights from another
  std::vector<std::string> collectives{};  // "dp: all_reduce among 8 by ring"
  std::int64_t operations = 0;             // executed, over all ranks and steps

  [[nodiscard]] bool passed() const;
  /// The first problem with its location; empty if there is none.
  [[nodiscard]] std::string problem() const;
};

}  // namespace lockstep
