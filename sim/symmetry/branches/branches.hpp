#pragma once

#include <cstdint>
#include <vector>

#include "sim/symmetry/partition/partition.hpp"
#include "sim/symmetry/quotient/quotient.hpp"

namespace lockstep::fold {

/// A part of a quotient that hangs on one member, its attachment: its members exchange data with
/// nobody else outside, and nothing that crosses the links of its pairs goes elsewhere. So all that
/// it learns of the rest is when the attachment comes to the ends of their transfers.
struct Branch {
  std::uint32_t attachment = 0;          // a class of members
  std::vector<std::uint32_t> members{};  // classes too, in order
  std::vector<std::uint32_t> pairs{};    // classes of pairs, those with the attachment too
  std::uint32_t kind = 0;  // branches of one kind are alike, member for member and pair for pair
};

struct Branches {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::vector<Branch> all;
  std::vector<std::uint32_t> first_of_kind;  // per kind, index into `all`
  struct Place {
    std::uint32_t branch = kNone;  // index into `all`; kNone: in none
    std::uint32_t number = 0;      // among the pairs of the branch
    std::uint32_t member = 0;      // which of its members talks to the attachment, where one does
  };
  std::vector<Place> pairs;  // per class of pairs
  std::vector<bool> inside;  // per class of members
};

/// Finds the branches of a quotient of one call of which there are at least two of a kind, where
/// most members are in such. The links of a quotient that cannot tell should have been left out of
/// its ways. None where the software of a attachment or of a member lets messages go one by one, as
/// what a attachment sends elsewhere then matters, and of a member's messages that meet in an
/// instant in which order they do; or where transfers take no time before they share, as then the
/// order of what happens within an instant does.
[[nodiscard]] Branches find_branches(const Relations& relations, const Partition& partition,
                                     const Quotient& quotient);

}  // namespace lockstep::fold
