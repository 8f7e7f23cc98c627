#pragma once

#include <cstdint>
#include <vector>

#include "sim/symmetry/partition/relations.hpp"

namespace lockstep::fold {

/// Members, pairs and links that cannot differ: the coarsest partition in which members of a class
/// begin alike and have as many pairs of every class, in which pairs of a class join members of the
/// same two classes over links of the same classes, and in which every link of a class is crossed
/// by as much of every class of pairs. Such a partition is called equitable; by induction over the
/// instants of a replay those of a class do the same at the same time, because max-min fair levels
/// follow from how much of what crosses a link.
struct Partition {
  std::vector<std::uint32_t> member_class;  // numbered by their first members
  std::vector<std::uint32_t> pair_class;
  /// Of links that several pairs cross and that may limit them; kNoClass for the others.
  std::vector<std::uint32_t> link_class;    // per index into Relations::links
  std::vector<std::uint32_t> first_member;  // per class, its representative
  std::vector<std::uint32_t> first_pair;
  std::vector<std::uint32_t> first_link;
  std::vector<std::uint32_t> members_in;  // per class
  std::vector<std::uint32_t> pairs_in;
  std::vector<std::uint32_t> links_in;
  /// Pairs that reach a member: by receiver, and where each one's begin.
  std::vector<std::uint32_t> received;
  std::vector<std::uint32_t> first_received;  // per member, and one more

  static constexpr std::uint32_t kNoClass = UINT32_MAX;
};

/// Finds it by refinement, in the order of m log n for m pairs and crossings.
[[nodiscard]] Partition find_partition(const Relations& relations, const Network& network,
                                       NetworkModel model);

}  // namespace lockstep::fold
