#include "tools/lockstep/terminal/time_left.hpp"

#include <algorithm>
#include <cstddef>

namespace lockstep::cli {

namespace {

constexpr double kLeastTime = 2;      // s
constexpr double kEnoughTime = 60;    // s
constexpr double kEnoughDone = 0.05;  // of the phase
constexpr std::size_t kMostReports = 256;

}  // namespace

void TimeLeft::begin(double seconds, double share) {
  reports_.clear();
  add(seconds, share);
}

void TimeLeft::add(double seconds, double share) {
  last_ = {seconds, share};
  if (reports_.size() >= kMostReports) thin_out();
  // As far apart as the kept ones are on average.
  const double apart = reports_.size() < 2 ? 0
                                           : 2 * (reports_.back().first - reports_.front().first) /
                                                 static_cast<double>(kMostReports);
  if (reports_.empty() || seconds - reports_.back().first >= apart) reports_.push_back(last_);
}

void TimeLeft::thin_out() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < reports_.size(); i += 2) reports_[kept++] = reports_[i];
  reports_.resize(kept);
}

std::optional<double> TimeLeft::seconds() const {
  if (reports_.empty()) return std::nullopt;
  const auto rate_since = [this](const std::pair<double, double>& report) {
    const double time = last_.first - report.first;
    return time > 0 ? (last_.second - report.second) / time : 0;
  };
  const auto& first = reports_.front();
  const double taken = last_.first - first.first;
  const bool enough = last_.second - first.second >= kEnoughDone || taken >= kEnoughTime;
  if (taken < kLeastTime || !enough) return std::nullopt;
  const auto half = std::find_if(reports_.begin(), reports_.end(), [&](const auto& report) {
    return report.first >= first.first + taken / 2;
  });
  double rate = rate_since(first);
  if (half != reports_.end()) rate = std::max(rate, rate_since(*half));
  if (rate <= 0) return std::nullopt;
  return (1 - last_.second) / rate;
}

}  // namespace lockstep::cli
