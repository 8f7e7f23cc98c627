#include "sim/symmetry/quotient/repeated_round.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/check.hpp"
#include "sim/base/units.hpp"

namespace lockstep::fold {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr double kNever = -std::numeric_limits<double>::infinity();
/// How often is looked how many lanes go on as before.
constexpr std::int64_t kRoundsBetweenLooks = 16;
/// Up to one lane in so many is advanced by itself; with more, all are, in one sweep.
constexpr std::size_t kLanesPerChanging = 16;
/// Lanes that are advanced by several rounds at once, so that they stay in a cache meanwhile.
constexpr std::size_t kLanesAtOnce = 2048;

/// Rows of lanes most of which go on as in the round before: advances the others only. What a lane
/// reaches next depends on itself and its neighbors, and a constant added to the three is added to
/// it; so while the three take equally long, the lane goes on taking just as long.
class ChangingLanes {
 public:
  /// Neighbors of a lane; itself at an end of a path.
  struct Neighbors {
    std::uint32_t before = 0;
    std::uint32_t after = 0;
  };

  /// `reached` at the present round and `before` at the one before it.
  ChangingLanes(std::vector<double>& reached, std::span<const double> before, bool cycle)
      : n_{before.size()},
        cycle_{cycle},
        reached_{reached},
        took_(n_),
        since_(n_, 0),
        seen_(n_, 0) {
    for (std::size_t i = 0; i < n_; ++i) took_[i] = reached_[i] - before[i];
    for (std::uint32_t i = 0; i < n_; ++i)
      if (changes(i)) changing_.push_back(i);
  }

  /// Up to `times` rounds; next(lane, neighbors, at) is when the lane reaches the next round if
  /// at(lane) is when one reached the present one. Done when none changes any more. Calls
  /// went_on(lane, rounds since the present one, count, first end, pace) for all rounds of a lane.
  template <typename Next, typename WentOn>
  RepeatedRounds run(std::int64_t times, const Next& next, const WentOn& went_on) {
    std::int64_t round = 0;
    RepeatedRounds out;
    std::vector<double> found;
    for (; round < times && !changing_.empty(); ++round) {
      found.clear();
      const auto at = [&](std::uint32_t i) { return reached_at(i, round); };
      for (const std::uint32_t i : changing_) found.push_back(next(i, neighbors(i), at));
      out.advanced += found.size();
      for (std::size_t k = 0; k < found.size(); ++k) {
        const std::uint32_t i = changing_[k];
        went_on(i, since_[i], round - since_[i], reached_[i] + took_[i], took_[i]);
        took_[i] = found[k] - at(i);
        went_on(i, round, 1, found[k], 0.0);
        reached_[i] = found[k];
        since_[i] = round + 1;
      }
      find_changing(round + 1);
    }
    for (std::uint32_t i = 0; i < n_; ++i) {
      went_on(i, since_[i], times - since_[i], reached_[i] + took_[i], took_[i]);
      reached_[i] = reached_at(i, times);
    }
    out.skipped = times - round;
    return out;
  }

 private:
  [[nodiscard]] Neighbors neighbors(std::uint32_t i) const {
    const auto last = static_cast<std::uint32_t>(n_ - 1);
    return {i > 0 ? i - 1 : (cycle_ ? last : i), i < last ? i + 1 : (cycle_ ? 0 : i)};
  }
  [[nodiscard]] bool changes(std::uint32_t i) const {
    const auto [before, after] = neighbors(i);
    return took_[i] != took_[before] || took_[i] != took_[after];
  }
  [[nodiscard]] double reached_at(std::uint32_t i, std::int64_t round) const {
    return reached_[i] + took_[i] * static_cast<double>(round - since_[i]);
  }

  /// Lanes that differ from a neighbor were advanced, or are next to one that was.
  void find_changing(std::int64_t round) {
    last_.swap(changing_);
    changing_.clear();
    for (const std::uint32_t i : last_) {
      const auto [before, after] = neighbors(i);
      for (const std::uint32_t near : {before, i, after}) {
        if (seen_[near] == round) continue;
        seen_[near] = round;
        if (changes(near)) changing_.push_back(near);
      }
    }
  }

  std::size_t n_;
  bool cycle_;
  std::vector<double>& reached_;     // at the round `since_`
  std::vector<double> took_;         // of a lane: the last round
  std::vector<std::int64_t> since_;  // of a lane: when it was last advanced
  std::vector<std::int64_t> seen_;
  std::vector<std::uint32_t> changing_;
  std::vector<std::uint32_t> last_;
};

/// Lanes in a row, each sending to the next; in a cycle the last one to the first. Times are whole
/// picoseconds in doubles, exact below 2^53 of them: two at once in a register of any x86-64.
class Row {
 public:
  explicit Row(std::size_t lanes) {
    lanes_.reserve(lanes);
    reached_.reserve(lanes + 1);
    takes_.reserve(lanes);
    reduces_.reserve(lanes);
  }

  void add(std::uint32_t lane, double reached, double takes, double reduces_before) {
    lanes_.push_back(lane);
    reached_.push_back(reached);
    takes_.push_back(takes);
    reduces_.push_back(reduces_before);
  }

  RepeatedRounds run(bool cycle, std::int64_t times, const RoundLog& log) {
    const std::size_t n = lanes_.size();
    done_.assign(n + 1, kNever);
    reached_.push_back(kNever);
    std::int64_t round = 0;
    while (round < times) {
      const bool looks = round % kRoundsBetweenLooks == 0;
      const std::int64_t unseen = std::min(kRoundsBetweenLooks - 1, times - round);
      if (!looks && log.log == nullptr && unseen == kRoundsBetweenLooks - 1 && n > kLanesAtOnce) {
        all_but_looks(n, cycle);
        round += unseen;
        continue;
      }
      if (looks) before_ = reached_;
      one_round(n, cycle);
      if (log.log != nullptr)
        for (std::size_t i = 0; i < n; ++i)
          log.log->add(lanes_[i], log.first + round, static_cast<std::int64_t>(reached_[i]));
      ++round;
      if (!looks || round == times || changing(n) * kLanesPerChanging > n + kLanesPerChanging)
        continue;
      before_.resize(n);
      ChangingLanes lanes{reached_, before_, cycle};
      RepeatedRounds out = lanes.run(
          times - round,
          [this, n, cycle](std::uint32_t i, auto near, const auto& at) {
            return next(i, near, at, n, cycle);
          },
          [&](std::uint32_t i, std::int64_t since, std::int64_t count, double end, double takes) {
            if (log.log != nullptr && count > 0)
              log.log->add_run(lanes_[i], log.first + round + since, count,
                               static_cast<std::int64_t>(end), static_cast<std::int64_t>(takes));
          });
      out.advanced += static_cast<std::uint64_t>(round) * transfers(cycle);
      return out;
    }
    return {0, static_cast<std::uint64_t>(times) * transfers(cycle)};
  }

  template <typename Take>
  void each(Take take) const {
    for (std::size_t i = 0; i < lanes_.size(); ++i) take(lanes_[i], reached_[i]);
  }

 private:
  void one_round(std::size_t n, bool cycle) {
    if (cycle) reached_[n] = reached_[0];
    one_round(n, cycle, reached_.data(), done_.data(), takes_.data(), reduces_.data());
  }

  /// Of n lanes in a row; reached[n] is of the one after them, and done[i + 1] of the transfer from
  /// lane i.
  static void one_round(std::size_t n, bool cycle, double* reached, double* done,
                        const double* takes, const double* reduces) {
    for (std::size_t i = 0; i < n; ++i)
      done[i + 1] = (reached[i] < reached[i + 1] ? reached[i + 1] : reached[i]) + takes[i];
    if (cycle) done[0] = done[n];
    for (std::size_t i = 0; i < n; ++i) {
      const double taken = done[i] + reduces[i];
      reached[i] = done[i + 1] < taken ? taken : done[i + 1];
    }
  }

  /// The rounds from one look to the next, some lanes at a time: what they reach depends on as many
  /// lanes on either side as there are rounds, which are advanced along with them and dropped, as
  /// each round leaves one more of these without what it depends on.
  void all_but_looks(std::size_t n, bool cycle) {
    constexpr auto kRounds = static_cast<std::size_t>(kRoundsBetweenLooks - 1);
    before_.resize(n + 1);
    Part part;
    for (std::size_t first = 0; first < n; first += kLanesAtOnce) {
      const std::size_t last = std::min(first + kLanesAtOnce, n);
      const std::size_t left = cycle ? kRounds : std::min(kRounds, first);
      const std::size_t right = cycle ? kRounds : std::min(kRounds, n - last);
      part.clear();
      for (std::size_t i = first + n - left; i < n + last + right; ++i) {
        const std::size_t lane = i < n ? i : (i < 2 * n ? i - n : i - 2 * n);
        part.reached.push_back(reached_[lane]);
        part.takes.push_back(takes_[lane]);
        part.reduces.push_back(reduces_[lane]);
      }
      const std::size_t lanes = part.reached.size();
      part.reached.push_back(kNever);
      part.done.assign(lanes + 1, kNever);
      for (std::size_t round = 0; round < kRounds; ++round)
        one_round(lanes, false, part.reached.data(), part.done.data(), part.takes.data(),
                  part.reduces.data());
      std::copy_n(part.reached.begin() + static_cast<std::ptrdiff_t>(left), last - first,
                  before_.begin() + static_cast<std::ptrdiff_t>(first));
    }
    before_[n] = kNever;
    reached_.swap(before_);
  }

  [[nodiscard]] std::uint64_t transfers(bool cycle) const {
    return lanes_.size() - (cycle ? 0 : 1);
  }

  /// The same for one lane.
  template <typename At>
  [[nodiscard]] double next(std::uint32_t i, ChangingLanes::Neighbors near, const At& at,
                            std::size_t n, bool cycle) const {
    const double own = at(i);
    double out = kNever;
    if (cycle || i + 1 < n) out = std::max(own, at(near.after)) + takes_[i];
    if (cycle || i > 0)
      out = std::max(out, std::max(own, at(near.before)) + takes_[near.before] + reduces_[i]);
    return out;
  }

  /// How many lanes took another time for the last round than the one after them.
  [[nodiscard]] std::size_t changing(std::size_t n) const {
    std::size_t count = 0;
    for (std::size_t i = 1; i < n; ++i)
      if (reached_[i] - before_[i] != reached_[i - 1] - before_[i - 1]) ++count;
    return count;
  }

  /// Lanes that are advanced together.
  struct Part {
    std::vector<double> reached;
    std::vector<double> takes;
    std::vector<double> reduces;
    std::vector<double> done;
    void clear() {
      reached.clear();
      takes.clear();
      reduces.clear();
    }
  };

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
  Rows(std::span<const RoundTransfer> round, std::int64_t times, std::span<std::int64_t> reached,
       const RoundLog& log)
      : round_{round}, times_{times}, reached_{reached}, log_{log}, ends_{round, reached.size()} {}

  RepeatedRounds run() {
    RepeatedRounds out{times_, 0};
    std::vector<bool> seen(reached_.size(), false);
    for (const bool cycles : {false, true}) {
      for (std::uint32_t lane = 0; lane < reached_.size(); ++lane) {
        const bool begins =
            ends_.sent[lane] != kNone && !seen[lane] && (cycles || ends_.received[lane] == kNone);
        if (!begins) continue;
        const RepeatedRounds row = run_from(lane, cycles, seen);
        out.skipped = std::min(out.skipped, row.skipped);
        out.advanced += row.advanced;
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t lanes_from(std::uint32_t first) const {
    std::size_t count = 1;
    for (std::uint32_t lane = first; ends_.sent[lane] != kNone; ++count) {
      lane = round_[ends_.sent[lane]].to;
      if (lane == first) break;
    }
    return count;
  }

  RepeatedRounds run_from(std::uint32_t first, bool cycle, std::vector<bool>& seen) {
    Row row{lanes_from(first)};
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
    const RepeatedRounds out = row.run(cycle, times_, log_);
    row.each([this](std::uint32_t l, double at) { reached_[l] = static_cast<std::int64_t>(at); });
    return out;
  }

  std::span<const RoundTransfer> round_;
  std::int64_t times_;
  std::span<std::int64_t> reached_;
  RoundLog log_;
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
                  std::span<std::int64_t> reached, const RoundLog& log) {
  std::vector<std::int64_t> next(reached.size());
  for (std::int64_t i = 0; i < times; ++i) {
    std::copy(reached.begin(), reached.end(), next.begin());
    for (const RoundTransfer& each : round) {
      const std::int64_t done = std::max(reached[each.from], reached[each.to]) + each.takes_ps;
      next[each.from] = std::max(next[each.from], done);
      next[each.to] = std::max(next[each.to], done + each.reduces_ps);
    }
    if (log.log != nullptr) {
      for (const RoundTransfer& each : round)
        for (const std::uint32_t lane : {each.from, each.to})
          if (log.log->steps(lane) <= log.first + i) log.log->add(lane, log.first + i, next[lane]);
    }
    std::copy(next.begin(), next.end(), reached.begin());
  }
}

}  // namespace

RepeatedRounds repeat_round(std::span<const RoundTransfer> round, std::int64_t times,
                            std::span<std::int64_t> reached_ps, const RoundLog& log) {
  if (fits(round, times, reached_ps)) return Rows{round, times, reached_ps, log}.run();
  step_by_step(round, times, reached_ps, log);
  return {0, static_cast<std::uint64_t>(times) * round.size()};
}

}  // namespace lockstep::fold
