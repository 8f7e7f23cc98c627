#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::app {

/// Ranks that an option names.
struct RankChoice {
  /// Inclusive; without an end up to the last rank.
  std::vector<std::pair<int, std::optional<int>>> intervals{};
  std::optional<double> share{};  // of all ranks, drawn, instead of these
  std::string text{};             // as given: "0..63", "random:1%"

  /// Whether it names a single rank.
  [[nodiscard]] bool is_single() const {
    return !share && intervals.size() == 1 && intervals[0].second == intervals[0].first;
  }
};

/// Draws the ranks of several options in turn, each with a seed of its own. The same for equal
/// options, seeds and numbers of ranks.
class RankDraws {
 public:
  /// `of`: who has the ranks, "the cluster" in errors.
  RankDraws(int ranks, std::uint64_t seed, std::string of)
      : ranks_{ranks}, seed_{seed}, of_{std::move(of)} {}

  struct Option {
    const RankChoice& ranks;
    std::string name;           // "set_rank", in errors
    bool draws_again = false;   // ranks that options before have drawn, too
    bool draws_values = false;  // whatever ranks it names
  };
  /// The ranks of the next option: of a share the number of ranks to the nearest, at least one.
  /// Throws RequestError for ranks that are not there, and where too few are left to be drawn.
  [[nodiscard]] std::vector<int> next(const Option& option);
  /// For what the option asked for last draws by rank.
  [[nodiscard]] std::uint64_t seed() const;

  /// Ranks of options that draw: them, or values of theirs.
  [[nodiscard]] const std::set<int>& drawn() const { return drawn_; }

 private:
  [[nodiscard]] std::vector<int> draw(const Option& option) const;

  int ranks_;
  std::uint64_t seed_;
  std::string of_;
  std::uint64_t options_ = 0;
  std::set<int> taken_;
  std::set<int> drawn_;
};

}  // namespace lockstep::app
