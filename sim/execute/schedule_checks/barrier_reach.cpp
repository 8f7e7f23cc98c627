#include "sim/execute/schedule_checks/barrier_reach.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kBits = 64;

std::size_t word_of(int rank) {
  return static_cast<std::size_t>(rank) / kBits;
}
std::uint64_t bit_of(int rank) {
  return std::uint64_t{1} << (static_cast<std::size_t>(rank) % kBits);
}

}  // namespace

BarrierReach::BarrierReach(int ranks) {
  const std::size_t words = (static_cast<std::size_t>(ranks) + kBits - 1) / kBits;
  known_.assign(static_cast<std::size_t>(ranks), Set(words));
  for (int rank = 0; rank < ranks; ++rank)
    known_[static_cast<std::size_t>(rank)][word_of(rank)] |= bit_of(rank);
}

BlockMemory::Payload BarrierReach::read(int rank, std::span<const Chunk>) {
  return std::make_shared<const Set>(known_[static_cast<std::size_t>(rank)]);
}

std::optional<std::string> BarrierReach::write(const ScheduleStepIndex& place,
                                               std::span<const Chunk>, const Payload& payload,
                                               Combine) {
  const Set& told = *static_cast<const Set*>(payload.get());
  Set& mine = known_[static_cast<std::size_t>(place.rank)];
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] |= told[i];
  return std::nullopt;
}

bool BarrierReach::has(int rank, int other) const {
  return (known_[static_cast<std::size_t>(rank)][word_of(other)] & bit_of(other)) != 0;
}

}  // namespace lockstep
