#include "tools/app/work_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

namespace lockstep::app {

namespace {

// Shorter ones say more of the start than of the growth.
constexpr double kLeastMeasured = 1e-4;  // s
constexpr double kMostExponent = 3;

}  // namespace

std::vector<std::size_t> spread_order(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), 0);
  const auto place = [](std::size_t i) {
    return std::fmod(0.6180339887498949 * static_cast<double>(i), 1);
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  return out;
}

void WorkEstimate::took(std::size_t part, double seconds) {
  Times& times = kinds_[parts_[part].kind][parts_[part].scale];
  times.sum += seconds;
  ++times.count;
  done_[part] = true;
  unfinished_.erase(part);
  spent_ += seconds;
}

void WorkEstimate::during(std::size_t part, double seconds, double left) {
  unfinished_[part] = {seconds, left};
}

void WorkEstimate::set_rest(std::size_t first, const std::vector<WorkPart>& parts) {
  parts_.resize(first);
  done_.resize(first);
  parts_.insert(parts_.end(), parts.begin(), parts.end());
  done_.resize(parts_.size());
}

double WorkEstimate::share() const {
  double spent = spent_;
  double left = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (done_[i]) continue;
    if (const auto now = unfinished_.find(i); now != unfinished_.end()) {
      spent += now->second.seconds;
      left += now->second.left;
      continue;
    }
    const auto kind = kinds_.find(parts_[i].kind);
    if (kind == kinds_.end()) return 0;
    left += expected(kind->second, parts_[i].scale);
  }
  return left > 0 ? spent / (spent + left) : 1;
}

/// By the largest two scales that were timed; in proportion to the scale if there is only one.
double WorkEstimate::expected(const Kind& kind, double scale) {
  const auto same = kind.find(scale);
  if (same != kind.end()) return same->second.mean();
  const auto last = std::prev(kind.end());
  double exponent = 1;
  if (last != kind.begin()) {
    const auto before = std::prev(last);
    if (before->second.mean() > kLeastMeasured)
      exponent = std::clamp(std::log(last->second.mean() / before->second.mean()) /
                                std::log(last->first / before->first),
                            0.0, kMostExponent);
  }
  return last->second.mean() * std::pow(scale / last->first, exponent);
}

}  // namespace lockstep::app
