#pragma once

#include <memory>
#include <optional>

#include "sim/program/program.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep {

/// An all-to-all of tokens in which the first rank of the group takes in, or sends results of, more
/// than the others.
struct TokenSkew {
  double others = 1;     // of each other rank over the first: 0 to below 1
  bool returns = false;  // results: senders are unequal, else receivers
  friend bool operator==(const TokenSkew&, const TokenSkew&) = default;
};

/// None: no all-to-all of experts with unequal loads, or one whose messages are made otherwise
/// (TokenCopies).
[[nodiscard]] std::optional<TokenSkew> token_skew(const Program& program,
                                                  const Operation& operation);

/// All-to-all of which each pair has bytes of its own: `busiest` with the first rank where that is
/// the unequal end, and `others` else. Each rank sends all at once, or one message and receives one
/// in each round (`rounds`), as all_to_all/direct.cpp and pairwise.cpp. Blocks are bytes; they
/// carry no tensor, so that no contract holds.
[[nodiscard]] std::shared_ptr<const Schedule> make_unequal_all_to_all(int n, bool rounds,
                                                                      Bytes busiest,
                                                                      const TokenSkew& skew);

/// Loads of ranks under ParallelConfig::expert_skew: the first of each group has the busiest
/// expert, and the others, with equal loads, the rest. Tensors and kernels of a program are those
/// of the first.
class UnequalExperts {
 public:
  /// None: all ranks have the same.
  [[nodiscard]] static std::optional<UnequalExperts> of(const Program& program);

  /// 0: a first rank, 1: another.
  [[nodiscard]] int place_of(const Mesh& mesh, int rank) const {
    return mesh.coordinate(rank, over_) == 0 ? 0 : 1;
  }
  /// Load of the other ranks over that of the first.
  [[nodiscard]] double others() const { return others_; }
  /// Whether a kernel reads or writes tokens of experts.
  [[nodiscard]] bool differs(const Program& program, const Operation& operation) const;
  /// Mesh, tensors and routines of the program, with the tensors of other ranks than the first.
  [[nodiscard]] Program of_others(const Program& program) const;

 private:
  UnequalExperts(MeshSubAxes over, double others) : over_{std::move(over)}, others_{others} {}
  [[nodiscard]] bool is_unequal(const Tensor& tensor) const;

  MeshSubAxes over_;
  double others_;
};

}  // namespace lockstep
