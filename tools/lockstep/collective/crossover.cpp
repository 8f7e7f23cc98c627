#include "tools/lockstep/collective/crossover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tools/lockstep/collective/collective_run.hpp"
#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/parallel.hpp"
#include "tools/lockstep/progress.hpp"

namespace lockstep::cli {

namespace {

struct Winner {
  std::size_t contestant = 0;
  Duration time;
};

struct Change {
  std::int64_t count = 0;  // elements, the first at which `to` leads
  std::size_t from = 0;
  std::size_t to = 0;
  Duration from_time;
  Duration to_time;
};

/// Sizes are counted in elements: nothing changes within one.
class Crossover {
 public:
  explicit Crossover(const CollectiveQuestion& question)
      : question_{question},
        arena_{arena_for(question)},
        player_{arena_, question.play()},
        contestants_{allowed(question, player_, left_out_)} {}

  Report run() {
    Report out;
    out.schema = "lockstep.crossover/1";
    out.config = config_of(question_, arena_, contestants_);
    out.seed = question_.cluster.seed;
    out.columns = {{"collective", "collective", "", true}, {"ranks", "", ""},
                   {"size_bytes", "size", "(B)"},          {"count", "count", "(elements)"},
                   {"from", "up to here", "", true},       {"to", "from here on", "", true},
                   {"from_s", "its time", "(us)"},         {"to_s", "its time", "(us)"}};
    Fingerprint fingerprint;
    for (std::size_t begin = 0; begin < contestants_.size();) {
      const Collective collective = contestants_[begin].collective;
      std::size_t end = begin;
      while (end < contestants_.size() && contestants_[end].collective == collective) ++end;
      out.sections.push_back(section(begin, end, fingerprint));
      begin = end;
    }
    for (const std::string& text : left_out_) out.footer.push_back("left out: " + text);
    out.fingerprint = fingerprint.text();
    return out;
  }

 private:
  [[nodiscard]] Section section(std::size_t begin, std::size_t end, Fingerprint& fingerprint) {
    const std::vector<std::int64_t> counts = counts_of_sizes();
    std::vector<Winner> winners(counts.size());
    Progress progress("crossover", counts.size());
    in_parallel(counts.size(), [&](std::size_t i) {
      winners[i] = winner(begin, end, counts[i]);
      progress.step();
    });
    Section out;
    out.notes.push_back(
        fmt::format("{}: {}", to_string(contestants_[begin].collective), arena_.text()));
    add_link_changes(arena_, out);
    out.notes.push_back(fmt::format("at {}: {}", to_string(bytes(counts.front())),
                                    contestants_[winners.front().contestant].text()));
    for (std::size_t i = 1; i < counts.size(); ++i) {
      Point low{counts[i - 1], winners[i - 1]};
      const Point high{counts[i], winners[i]};
      while (low.winner.contestant != high.winner.contestant) {
        const Change change = bisect(begin, end, low, high);
        out.rows.push_back(row(change));
        fingerprint.add(change.count);
        fingerprint.add(change.to_time.ps());
        low = {change.count, {change.to, change.to_time}};
      }
    }
    if (out.rows.empty())
      out.notes.emplace_back("the fastest does not change up to the largest size");
    return out;
  }

  struct Point {
    std::int64_t count = 0;
    Winner winner;
  };

  /// Where the winner at `low` stops leading.
  [[nodiscard]] Change bisect(std::size_t begin, std::size_t end, Point low, Point high) const {
    while (high.count - low.count > 1) {
      const std::int64_t middle = low.count + (high.count - low.count) / 2;
      const Winner there = winner(begin, end, middle);
      (there.contestant == low.winner.contestant ? low : high) = {middle, there};
    }
    return {high.count, low.winner.contestant, high.winner.contestant,
            time_of(low.winner.contestant, high.count), high.winner.time};
  }

  [[nodiscard]] Winner winner(std::size_t begin, std::size_t end, std::int64_t count) const {
    std::optional<Winner> best;
    for (std::size_t c = begin; c < end; ++c) {
      const Duration time = time_of(c, count);
      if (!best || time < best->time) best = Winner{c, time};
    }
    return *best;
  }

  [[nodiscard]] Duration time_of(std::size_t contestant, std::int64_t count) const {
    const Contestant& one = contestants_[contestant];
    const Played played = player_.play(one, player_.prepare(one, bytes(count)));
    if (!played.unfinished.empty()) throw Refusal(played.unfinished);
    return played.time;
  }

  [[nodiscard]] Bytes bytes(std::int64_t count) const { return count * question_.type->size; }

  [[nodiscard]] std::vector<std::int64_t> counts_of_sizes() const {
    std::vector<std::int64_t> out;
    for (const Bytes size : question_.sizes) {
      const std::int64_t count = size.count() / question_.type->size.count();
      if (out.empty() || count > out.back()) out.push_back(count);
    }
    return out;
  }

  [[nodiscard]] std::vector<Cell> row(const Change& change) const {
    const auto time = [](Duration d) {
      return Cell{d.seconds(), fmt::format("{:.2f}", d.seconds() * 1e6)};
    };
    return {Cell{std::string{to_string(contestants_[change.to].collective)}},
            Cell{std::int64_t{arena_.ranks()}},
            Cell{bytes(change.count).count()},
            Cell{change.count},
            Cell{contestants_[change.from].text()},
            Cell{contestants_[change.to].text()},
            time(change.from_time),
            time(change.to_time)};
  }

  const CollectiveQuestion& question_;
  Arena arena_;
  std::vector<std::string> left_out_;
  Player player_;
  std::vector<Contestant> contestants_;
};

}  // namespace

Report run_crossover(const CollectiveQuestion& question) {
  return Crossover(question).run();
}

}  // namespace lockstep::cli
