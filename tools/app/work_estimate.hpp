#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace lockstep::app {

/// Parts of one kind, such as an algorithm, take times that grow as a power of their scale.
struct WorkPart {
  std::size_t kind = 0;
  double scale = 1;  // > 0
};

/// 0 … count-1 so that the first few are spread over all (multiples of the golden ratio).
[[nodiscard]] std::vector<std::size_t> spread_order(std::size_t count);

/// What is left of a job, from how long its parts took so far.
class WorkEstimate {
 public:
  explicit WorkEstimate(std::vector<WorkPart> parts) : parts_{std::move(parts)} {}

  void took(std::size_t part, double seconds);
  /// A part in work has taken `seconds` so far and will take `left` more.
  void during(std::size_t part, double seconds, double left);
  void set_rest(std::size_t first, const std::vector<WorkPart>& parts);
  [[nodiscard]] std::size_t size() const { return parts_.size(); }

  /// Of the job that is done; 0 while a kind has no part that was timed.
  [[nodiscard]] double share() const;

 private:
  struct Times {
    double sum = 0;  // seconds
    std::size_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  using Kind = std::map<double, Times>;  // by scale
  struct Unfinished {
    double seconds = 0;
    double left = 0;
  };

  [[nodiscard]] static double expected(const Kind& kind, double scale);

  std::vector<WorkPart> parts_;
  std::vector<bool> done_ = std::vector<bool>(parts_.size());
  std::map<std::size_t, Kind> kinds_{};
  std::map<std::size_t, Unfinished> unfinished_{};  // by part
  double spent_ = 0;
};

}  // namespace lockstep::app
