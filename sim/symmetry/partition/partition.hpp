#pragma once

#include <cstdint>
#include <vector>

#include "sim/symmetry/partition/relations.hpp"

namespace lockstep::fold {

/// The coarsest equitable partition of members, pairs and links: members of a class start equal and
/// have equally many pairs of every class; pairs of a class join members of the same two classes
/// over links of the same classes; links of a class carry equal weight of every class of pairs. By
/// induction over the instants of a replay, elements of a class do the same at the same time,
/// because max-min levels depend only on what crosses a link (one solution, equal classes:
/// sim/network/maxmin/README.md).
struct Partition {
  std::vector<std::uint32_t> member_class;  // numbered by their first members
  std::vector<std::uint32_t> pair_class;
  /// For links that several pairs cross and that may limit them; kNoClass for the others.
  std::vector<std::uint32_t> link_class;    // per index into Relations::links
  std::vector<std::uint32_t> first_member;  // per class, its representative
  std::vector<std::uint32_t> first_pair;
  std::vector<std::uint32_t> first_link;
  std::vector<std::uint32_t> members_in;  // per class
  std::vector<std::uint32_t> pairs_in;
  std::vector<std::uint32_t> links_in;
  /// Pairs by receiver, and the first of each receiver.
  std::vector<std::uint32_t> received;
  std::vector<std::uint32_t> first_received;  // per member, and one more

  static constexpr std::uint32_t kNoClass = UINT32_MAX;
};

/// By refinement, in O(m log n) for m pairs and crossings.
[[nodiscard]] Partition find_partition(const Relations& relations, const Network& network,
                                       NetworkModel model);

}  // namespace lockstep::fold
