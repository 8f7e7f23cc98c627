#include "strategies/step/lowering/coarse_rank_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/program/communicator.hpp"
#include "sim/reuse/key.hpp"
#include "sim/symmetry/partition/cells.hpp"
#include "strategies/step/lowering/class_partings.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

/// What distinguishes two ways of being in touch.
std::vector<int> name_of(const TrainingStepCommunication& of) {
  if (of.kind == Kind::collective) return {0, static_cast<int>(of.communicator)};
  std::vector<int> out{of.kind == Kind::send ? 1 : 2, of.how.offset};
  for (const AtomId atom : of.how.over) out.push_back(static_cast<int>(atom));
  return out;
}

}  // namespace

CoarseRankClasses::CoarseRankClasses(const Program& program, const std::vector<RoleProgram>& roles,
                                     const RankSpeeds& speeds)
    : speeds_{speeds}, communications_{program, roles} {
  const int all = program.mesh.ranks() + hosts_of(program);
  for (int rank = 0; rank < all; ++rank) role_.push_back(role_played(program, rank));
  find_touches();
  refine();
  number();
}

void CoarseRankClasses::find_touches() {
  std::map<std::vector<int>, std::size_t> known;
  for (std::size_t rank = 0; rank < role_.size(); ++rank)
    add_touches(static_cast<int>(rank), known);
}

void CoarseRankClasses::add_touches(int rank, std::map<std::vector<int>, std::size_t>& known) {
  for (const std::uint32_t id : communications_.of_role(role_[static_cast<std::size_t>(rank)])) {
    const TrainingStepCommunication& how = communications_[id];
    const auto [found, is_new] = known.try_emplace(name_of(how), touches_.size());
    if (is_new) touches_.push_back({&how, std::vector(role_.size(), kNobody)});
    const int with = how.kind == Kind::collective ? communications_.member(id, rank, 0)
                                                  : communications_.peer(id, rank);
    touches_[found->second].with[static_cast<std::size_t>(rank)] = static_cast<std::uint32_t>(with);
  }
}

/// Starts with kinds by role and speed, and parts those that are in touch with different kinds: in
/// a group, or at the other end of a message.
void CoarseRankClasses::refine() {
  std::map<std::pair<std::size_t, RankSpeed>, std::uint64_t> first;
  std::vector<fold::Key> keys;
  for (std::size_t rank = 0; rank < role_.size(); ++rank) {
    const std::pair seen{role_[rank], speed_of(speeds_, static_cast<int>(rank))};
    keys.push_back(
        fold::KeyBuilder{}.add(first.try_emplace(seen, first.size()).first->second).key());
  }
  std::vector<std::vector<std::vector<std::uint32_t>>> touched_by;  // per touch and Peering::with
  for (const Peering& touch : touches_) {
    auto& ranks = touched_by.emplace_back(role_.size());
    for (std::uint32_t rank = 0; rank < role_.size(); ++rank)
      if (touch.with[rank] != kNobody) ranks[touch.with[rank]].push_back(rank);
  }
  fold::Cells cells{keys};
  std::vector<std::uint64_t> members_at(role_.size(), 0);  // of a splitter, by Peering::with
  std::vector<std::uint32_t> met;
  while (const auto splitter = cells.next()) {
    const auto members = cells.members(*splitter);
    const std::vector<std::uint32_t> kind{members.begin(), members.end()};
    for (std::size_t t = 0; t < touches_.size(); ++t) {
      const bool meets = touches_[t].how->kind == Kind::collective;
      met.clear();
      for (const std::uint32_t rank : kind) {
        const std::uint32_t at = meets ? touches_[t].with[rank] : rank;
        if (at == kNobody) continue;
        if (members_at[at]++ == 0) met.push_back(at);
      }
      for (const std::uint32_t at : met)
        for (const std::uint32_t other : touched_by[t][at]) cells.count(other, members_at[at]);
      for (const std::uint32_t at : met) members_at[at] = 0;
      cells.split();
    }
  }
  std::map<fold::Cells::CellId, std::uint32_t> number;
  for (std::uint32_t rank = 0; rank < role_.size(); ++rank)
    class_of_.push_back(
        number.try_emplace(cells.cell_of(rank), static_cast<std::uint32_t>(number.size()))
            .first->second);
  colours_ = number.size();
}

/// Kinds are numbered by their first ranks as they are found.
void CoarseRankClasses::number() {
  representatives_.assign(colours_, -1);
  members_.assign(colours_, 0);
  for (std::size_t rank = 0; rank < role_.size(); ++rank)
    if (members_[class_of_[rank]]++ == 0)
      representatives_[class_of_[rank]] = static_cast<int>(rank);
}

/// The others that a rank is in touch with, in order.
std::vector<std::uint32_t> CoarseRankClasses::peers_of(const Peering& touch,
                                                       std::uint32_t rank) const {
  if (touch.with[rank] == kNobody) return {};
  if (touch.how->kind != Kind::collective) return {touch.with[rank]};
  std::vector<std::uint32_t> out;
  for (std::uint32_t other = 0; other < touch.with.size(); ++other)
    if (other != rank && touch.with[other] == touch.with[rank]) out.push_back(other);
  return out;
}

std::string CoarseRankClasses::difference(std::uint32_t of, std::uint32_t usual) const {
  const int own = representatives_[of];
  const int other = representatives_[usual];
  const RankSpeed& speed = speed_of(speeds_, own);
  if (speed != speed_of(speeds_, other)) return description(speed);
  // What it is in touch with and the other is not: the rarest.
  const Peering* by = nullptr;
  std::uint32_t rarest = kNobody;
  for (const Peering& touch : touches_) {
    std::set<std::uint32_t> known{of};
    for (const std::uint32_t rank : peers_of(touch, static_cast<std::uint32_t>(other)))
      known.insert(class_of_[rank]);
    for (const std::uint32_t rank : peers_of(touch, static_cast<std::uint32_t>(own))) {
      if (known.contains(class_of_[rank])) continue;
      if (by != nullptr && members_[class_of_[rank]] >= members_[class_of_[rarest]]) continue;
      by = &touch;
      rarest = rank;
    }
  }
  if (by == nullptr) return "is in groups of other kinds";
  if (by->how->kind == Kind::send) return fmt::format("sends to rank {}", rarest);
  if (by->how->kind == Kind::receive) return fmt::format("receives from rank {}", rarest);
  return fmt::format("is in one {} group with rank {}", by->how->how.group, rarest);
}

std::vector<RankEquivalenceClass> CoarseRankClasses::describe() const {
  std::vector<RankEquivalenceClass> out;
  for (std::size_t kind = 0; kind < members_.size(); ++kind)
    out.push_back({representatives_[kind],
                   role_[static_cast<std::size_t>(representatives_[kind])],
                   members_[kind],
                   {}});
  const std::map<std::size_t, std::size_t> usual = usual_classes(out);
  const std::size_t described = std::min(out.size(), RankEquivalenceClass::kMaxDescribed);
  for (std::uint32_t kind = 0; kind < described; ++kind)
    if (kind != usual.at(out[kind].role))
      out[kind].difference = difference(kind, static_cast<std::uint32_t>(usual.at(out[kind].role)));
  return out;
}

}  // namespace lockstep
