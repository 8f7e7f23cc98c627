#include "tests/bench/traffic.hpp"

#include <numeric>
#include <random>

namespace lockstep {
namespace {

constexpr Bytes kBytesPerRank = 64_MiB;

/// Evenly mixed 64 bits of a number (SplitMix64, Steele, Lea and Flood 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// One step; a block is one byte, so that messages may differ in size.
class RandomAllToAll final : public Schedule {
 public:
  explicit RandomAllToAll(int n) : n_{n} {}

  [[nodiscard]] int ranks() const override { return n_; }
  [[nodiscard]] std::int64_t blocks() const override { return 2 * kBytesPerRank.count(); }
  [[nodiscard]] std::int64_t steps(int, int) const override { return 1; }
  void step(int rank, int, std::int64_t, ScheduleStep& step) const override {
    for (int distance = 1; distance < n_; ++distance) {
      const int to = (rank + distance) % n_;
      const int from = (rank + n_ - distance) % n_;
      step.sends.push_back({to, {Buffer::data, 0, size(rank, to)}});
      step.receives.push_back({from, {Buffer::data, 0, size(from, rank)}});
    }
  }

 private:
  [[nodiscard]] std::int64_t size(int from, int to) const {
    const std::int64_t mean = kBytesPerRank.count() / (n_ - 1);
    const auto draw =
        mix(static_cast<std::uint64_t>(from) * 65536 + static_cast<std::uint64_t>(to));
    return mean / 2 + static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(mean + 1));
  }

  int n_;
};

CollectiveCall call(std::shared_ptr<const Schedule> schedule, Bytes block) {
  CollectiveCall call;
  call.members.resize(static_cast<std::size_t>(schedule->ranks()));
  std::iota(call.members.begin(), call.members.end(), 0U);
  call.schedule = std::move(schedule);
  call.block = block;
  return call;
}

}  // namespace

CollectiveCall all_reduce(std::shared_ptr<const Schedule> schedule) {
  const Bytes block{kBytesPerRank.count() / schedule->blocks()};
  return call(std::move(schedule), block);
}

CollectiveCall all_reduce_apart(std::shared_ptr<const Schedule> schedule) {
  CollectiveCall apart = all_reduce(std::move(schedule));
  for (const EndpointId member : apart.members) {
    apart.starts.emplace_back(1_ps * static_cast<std::int64_t>(mix(member) % 100'000'000));
  }
  return apart;
}

CollectiveCall all_to_all(int n) {
  return call(std::make_shared<RandomAllToAll>(n), 1_B);
}

}  // namespace lockstep
