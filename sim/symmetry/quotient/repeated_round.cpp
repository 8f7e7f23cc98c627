#include "sim/symmetry/quotient/repeated_round.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr double kNever = -std::numeric_limits<double>::infinity();
/// How often is looked whether all go on alike.
constexpr std::int64_t kRoundsBetweenLooks = 16;

/// Lanes in a row, each sending to the next; in a cycle the last one to the first. Times are whole
/// picoseconds in doubles, exact below 2^53 of them: two at once in a register of any x86-64.
class Row {
 public:
  void add(std::uint32_t lane, double reached, double takes, double reduces_before) {
    lanes_.push_back(lane);
    reached_.push_back(reached);
    takes_.push_back(takes);
    reduces_.push_back(reduces_before);
  }

  std::int64_t run(bool cycle, std::int64_t times) {
    const std::size_t n = lanes_.size();
    done_.assign(n + 1, kNever);
    reached_.push_back(kNever);
    std::int64_t round = 0;
    while (round < times) {
      const bool looks = round % kRoundsBetweenLooks == 0;
      if (looks) before_ = reached_;
      one_round(n, cycle);
      ++round;
      if (looks && all_alike(n)) break;
    }
    if (round < times) {
      const double more = (reached_[0] - before_[0]) * static_cast<double>(times - round);
      for (std::size_t i = 0; i < n; ++i) reached_[i] += more;
    }
    return times - round;
  }

  template <typename Take>
  void each(Take take) const {
    for (std::size_t i = 0; i < lanes_.size(); ++i) take(lanes_[i], reached_[i]);
  }

 private:
  void one_round(std::size_t n, bool cycle) {
    if (cycle) reached_[n] = reached_[0];
    double* const reached = reached_.data();
    double* const done = done_.data();  // done[i + 1]: of the transfer from lane i
    const double* const takes = takes_.data();
    const double* const reduces = reduces_.data();
    for (std::size_t i = 0; i < n; ++i)
      done[i + 1] = (reached[i] < reached[i + 1] ? reached[i + 1] : reached[i]) + takes[i];
    if (cycle) done[0] = done[n];
    for (std::size_t i = 0; i < n; ++i) {
      const double taken = done[i] + reduces[i];
      reached[i] = done[i + 1] < taken ? taken : done[i + 1];
    }
  }

  [[nodiscard]] bool all_alike(std::size_t n) const {
    const double step = reached_[0] - before_[0];
    for (std::size_t i = 1; i < n; ++i)
      if (reached_[i] - before_[i] != step) return false;
    return true;
  }

  std::vector<std::uint32_t> lanes_;
  std::vector<double> reached_;
  std::vector<double> takes_;    // of the transfer to the next lane
  std::vector<double> reduces_;  // of what comes from the lane before
  std::vector<double> done_;
  std::vector<double> before_;
};

/// Who sends what and who receives what, by lane, as indices into the round.
struct Ends {
  std::vector<std::uint32_t> sent;
  std::vector<std::uint32_t> received;

  Ends(std::span<const RoundTransfer> round, std::size_t lanes)
      : sent(lanes, kNone), received(lanes, kNone) {
    for (std::uint32_t i = 0; i < round.size(); ++i) {
      LOCKSTEP_CHECK(sent[round[i].from] == kNone && received[round[i].to] == kNone);
      sent[round[i].from] = i;
      received[round[i].to] = i;
    }
  }
};

class Rows {
 public:
  Rows(std::span<const RoundTransfer> round, std::int64_t times, std::span<std::int64_t> reached)
      : round_{round}, times_{times}, reached_{reached}, ends_{round, reached.size()} {}

  std::int64_t run() {
    std::int64_t skipped = 0;
    std::vector<bool> seen(reached_.size(), false);
    for (const bool cycles : {false, true}) {
      for (std::uint32_t lane = 0; lane < reached_.size(); ++lane) {
        const bool begins =
            ends_.sent[lane] != kNone && !seen[lane] && (cycles || ends_.received[lane] == kNone);
        if (begins) skipped += run_from(lane, cycles, seen);
      }
    }
    return skipped;
  }

 private:
  std::int64_t run_from(std::uint32_t first, bool cycle, std::vector<bool>& seen) {
    Row row;
    std::uint32_t lane = first;
    for (;;) {
      seen[lane] = true;
      const std::uint32_t sent = ends_.sent[lane];
      const std::uint32_t received = ends_.received[lane];
      row.add(lane, static_cast<double>(reached_[lane]),
              sent == kNone ? kNever : static_cast<double>(round_[sent].takes_ps),
              received == kNone ? 0.0 : static_cast<double>(round_[received].reduces_ps));
      if (sent == kNone) break;
      lane = round_[sent].to;
      if (lane == first) break;
    }
    const std::int64_t skipped = row.run(cycle, times_);
    row.each([this](std::uint32_t l, double at) { reached_[l] = static_cast<std::int64_t>(at); });
    return skipped;
  }

  std::span<const RoundTransfer> round_;
  std::int64_t times_;
  std::span<std::int64_t> reached_;
  Ends ends_;
};

/// A sum that no instant can be beyond stays exact in a double.
bool fits(std::span<const RoundTransfer> round, std::int64_t times,
          std::span<const std::int64_t> reached) {
  UInt128 most = 0;
  for (const std::int64_t at : reached) most = std::max(most, static_cast<UInt128>(at));
  std::int64_t longest = 0;
  for (const RoundTransfer& each : round)
    longest = std::max(longest, each.takes_ps + each.reduces_ps);
  most += static_cast<UInt128>(longest) * static_cast<UInt128>(times);
  return most < (UInt128{1} << 53U);
}

/// The same step by step in whole numbers.
void step_by_step(std::span<const RoundTransfer> round, std::int64_t times,
                  std::span<std::int64_t> reached) {
  std::vector<std::int64_t> next(reached.size());
  for (std::int64_t i = 0; i < times; ++i) {
    std::copy(reached.begin(), reached.end(), next.begin());
    for (const RoundTransfer& each : round) {
      const std::int64_t done = std::max(reached[each.from], reached[each.to]) + each.takes_ps;
      next[each.from] = std::max(next[each.from], done);
      next[each.to] = std::max(next[each.to], done + each.reduces_ps);
    }
    std::copy(next.begin(), next.end(), reached.begin());
  }
}

}  // namespace

std::int64_t repeat_round(std::span<const RoundTransfer> round, std::int64_t times,
                          std::span<std::int64_t> reached_ps) {
  if (fits(round, times, reached_ps)) return Rows{round, times, reached_ps}.run();
  step_by_step(round, times, reached_ps);
  return 0;
}

}  // namespace lockstep::fold
