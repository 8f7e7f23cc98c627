#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/program/kernel/kernel.hpp"

namespace lockstep {

/// Fused attention over packed documents where ranks or microbatches have unequal work: documents
/// differ between sequences, or the tokens of a sequence are cut among ranks. A rank computes the
/// blocks of its queries and of the keys that it holds which the mask of causal documents leaves.
class AttentionLoads {
 public:
  /// None: all ranks compute the same in every microbatch, or masks save nothing. Both arguments
  /// must outlive the result.
  [[nodiscard]] static std::optional<AttentionLoads> of(const Program& program,
                                                        const Operation& operation);

  /// Ranks that may differ: by their sequences, then by their part of each.
  [[nodiscard]] int places() const { return batches_ * parts_; }
  [[nodiscard]] int place_of(int rank) const;
  /// Per place.
  [[nodiscard]] std::vector<MaskedAttention> loads(int microbatch) const;

 private:
  struct Run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  AttentionLoads(const Program& program, const Operation& operation);
  /// The runs of tokens of one part of a sequence.
  [[nodiscard]] std::vector<Run> runs_of(int part) const;
  [[nodiscard]] std::vector<Run> keys_of(int part) const;
  void add_sequence(const VisibleKeys& visible, const std::vector<std::int64_t>& begins,
                    const std::vector<Run>& queries, const std::vector<Run>& keys,
                    MaskedAttention& out) const;

  const Program* program_;
  const Operation* operation_;
  Extent batch_;
  Extent sequence_;
  bool whole_keys_ = false;  // gathered
  std::int64_t heads_ = 1;   // on a rank
  int batches_ = 1;          // parts of a microbatch
  int parts_ = 1;            // of a sequence
};

}  // namespace lockstep
