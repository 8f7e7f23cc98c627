#include "sim/execute/program/real_blocks.hpp"

#include <algorithm>
#include <limits>

namespace lockstep {

template <class Real>
RealBlocks<Real>::RealBlocks(const Schedule& schedule, std::int64_t block_elements,
                             Reduction reduction)
    : block_elements_{block_elements}, reduction_{reduction} {
  constexpr Real kUnwritten = std::numeric_limits<Real>::quiet_NaN();
  const auto elements = static_cast<std::size_t>(schedule.blocks() * block_elements);
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    const auto scratch = static_cast<std::size_t>(schedule.scratch_blocks(rank) * block_elements);
    ranks_.push_back({std::vector<Real>(elements, 0), std::vector<Real>(elements, kUnwritten),
                      std::vector<Real>(scratch, kUnwritten)});
  }
}

template <class Real>
std::vector<Real>& RealBlocks<Real>::buffer(int rank, Buffer which) {
  return ranks_.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(which));
}

template <class Real>
BlockMemory::Payload RealBlocks<Real>::read(int rank, std::span<const Chunk> runs) {
  auto out = std::make_shared<std::vector<Real>>();
  for (const Chunk& run : runs) {
    const auto from = buffer(rank, run.buffer).begin() + run.first * block_elements_;
    out->insert(out->end(), from, from + run.count * block_elements_);
  }
  return out;
}

template <class Real>
std::optional<std::string> RealBlocks<Real>::write(const ScheduleStepIndex& place,
                                                   std::span<const Chunk> runs,
                                                   const Payload& payload, Combine combine) {
  const Real* from = static_cast<const std::vector<Real>*>(payload.get())->data();
  for (const Chunk& run : runs) {
    Real* to = buffer(place.rank, run.buffer).data() + run.first * block_elements_;
    for (std::int64_t i = 0; i < run.count * block_elements_; ++i, ++from) {
      if (combine == Combine::copy) {
        to[i] = *from;
      } else {
        to[i] = reduction_ == Reduction::sum ? to[i] + *from : std::max(to[i], *from);
      }
    }
  }
  return std::nullopt;
}

template class RealBlocks<float>;
template class RealBlocks<double>;

}  // namespace lockstep
