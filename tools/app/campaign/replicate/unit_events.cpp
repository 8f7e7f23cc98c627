#include "tools/app/campaign/replicate/unit_events.hpp"

#include <algorithm>
#include <tuple>

#include "tools/app/campaign/replicate/random_draws.hpp"

namespace lockstep::app {

UnitEvents::UnitEvents(const std::vector<UnitProcess>& processes, std::uint64_t replicate) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const UnitProcess& process = processes[i];
    const std::uint64_t key = mixed(process.key, replicate);
    std::int64_t first = 0;
    for (std::uint64_t number = 0; first < process.units; ++number) {
      const std::int64_t size = std::max<std::int64_t>(first, 1);
      Block block{mixed(key, number), 0, i, first, size, process.units};
      block.mean_us = static_cast<double>(process.mean.us()) / static_cast<double>(size);
      advance(block);
      if (block.at < LongTime::never()) heap_.push_back(block);
      first += size;
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  take_first();
}

void UnitEvents::advance(Block& block) {
  do {
    const double gap = exponential(mixed(block.key, block.draws++)) * block.mean_us;
    const LongTime wait = LongTime::seconds(gap / 1e6);
    block.at = wait < LongTime::never() - block.at ? block.at + wait : LongTime::never();
    const double where = unit_interval(mixed(block.key, block.draws++));
    block.unit = block.first + static_cast<std::int64_t>(where * static_cast<double>(block.size));
  } while (block.unit >= block.units && block.at < LongTime::never());
}

bool UnitEvents::later(const Block& a, const Block& b) {
  return std::tuple{a.at, a.process, a.first} > std::tuple{b.at, b.process, b.first};
}

void UnitEvents::take_first() {
  if (heap_.empty()) {
    next_ = {LongTime::never()};
    return;
  }
  next_ = {heap_.front().at, heap_.front().process, heap_.front().unit};
}

void UnitEvents::pop() {
  if (heap_.empty()) return;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  advance(heap_.back());
  if (heap_.back().at < LongTime::never()) {
    std::push_heap(heap_.begin(), heap_.end(), later);
  } else {
    heap_.pop_back();
  }
  take_first();
}

double largest_uniform(std::uint64_t key, std::uint64_t replicate, std::int64_t n) {
  const std::uint64_t of = mixed(key, replicate);
  std::uint64_t draws = 0;
  double largest = unit_interval(mixed(of, draws++));
  auto left = static_cast<double>(n - 1);
  while (left > 0 && largest < 1) {
    // Draws until one exceeds `largest`: geometric, by inversion.
    const double failures = exponential(mixed(of, draws++)) / -portable_log(largest);
    const double next = unit_interval(mixed(of, draws++));
    if (!(failures < left)) break;
    left -= 1 + static_cast<double>(static_cast<std::int64_t>(failures));
    if (left < 0) break;
    largest += (1 - largest) * next;
  }
  return largest;
}

}  // namespace lockstep::app
