#pragma once

#include <cstdint>
#include <vector>

#include "sim/symmetry/partition/partition.hpp"
#include "sim/symmetry/quotient/quotient.hpp"

namespace lockstep::fold {

/// A part of a quotient that is attached to one member: its members communicate only with each
/// other and the attachment, and no other traffic crosses the links of its pairs. So the
/// attachment's post times fully determine its times.
struct Branch {
  std::uint32_t attachment = 0;          // a class of members
  std::vector<std::uint32_t> members{};  // classes of members, in order
  std::vector<std::uint32_t> pairs{};    // classes of pairs, including those with the attachment
  std::uint32_t kind = 0;  // branches of a kind correspond member by member and pair by pair
};

struct Branches {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<Branch> all;
  std::vector<std::uint32_t> first_of_kind;  // per kind, index into `all`
  struct Place {
    std::uint32_t branch = kNone;  // index into `all`; kNone: in none
    std::uint32_t number = 0;      // among the pairs of the branch
    std::uint32_t member = 0;  // index of the member that communicates with the attachment, if any
  };
  std::vector<Place> pairs;  // per class of pairs
  std::vector<bool> inside;  // per class of members
};

/// Finds branches of a quotient of one call, if at least two are of a kind and most members are
/// inside. Links without effect should have been removed before (leave_out_slack_links()). None if
/// the attachment or a member has a message overhead (other messages, and the order of those
/// matched in an instant, would then matter), or if transfers take no time before they share (the
/// order within an instant would).
[[nodiscard]] Branches find_branches(const Relations& relations, const Partition& partition,
                                     const Quotient& quotient);

}  // namespace lockstep::fold
