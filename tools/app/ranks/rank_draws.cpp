#include "tools/app/ranks/rank_draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/hash.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

std::uint64_t RankDraws::seed() const {
  return mix64(seed_ + (options_ - 1) * kGoldenGamma);
}

/// Those with the least hashes, without those that are taken.
std::vector<int> RankDraws::draw(const Option& option) const {
  std::vector<std::pair<std::uint64_t, int>> order;
  for (int rank = 0; rank < ranks_; ++rank)
    if (option.draws_again || !taken_.contains(rank))
      order.emplace_back(splitmix64(seed() ^ mix64(static_cast<std::uint64_t>(rank) + 1)), rank);
  std::sort(order.begin(), order.end());
  const double share = *option.ranks.share;
  const auto many = std::max<std::int64_t>(1, std::llround(share * ranks_));
  if (many > static_cast<std::int64_t>(order.size()))
    throw RequestError(fmt::format("{} {}", option.name, option.ranks.text),
                       fmt::format("{} of the {} ranks are drawn before, which leaves {}",
                                   taken_.size(), ranks_, order.size()));
  std::vector<int> out;
  for (std::int64_t i = 0; i < many; ++i) out.push_back(order[static_cast<std::size_t>(i)].second);
  return out;
}

std::vector<int> RankDraws::next(const Option& option) {
  ++options_;
  std::vector<int> out;
  if (option.ranks.share) {
    out = draw(option);
    if (!option.draws_again) taken_.insert(out.begin(), out.end());
  }
  for (const auto& [first, end] : option.ranks.intervals) {
    const int last = end.value_or(ranks_ - 1);
    if (last >= ranks_)
      throw RequestError(fmt::format("{} {}", option.name, option.ranks.text),
                         fmt::format("{} has ranks 0 to {}", of_, ranks_ - 1));
    for (int rank = first; rank <= last; ++rank) out.push_back(rank);
  }
  if (option.ranks.intervals.size() > 1) {
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  if (option.ranks.share || option.draws_values) drawn_.insert(out.begin(), out.end());
  return out;
}

}  // namespace lockstep::app
