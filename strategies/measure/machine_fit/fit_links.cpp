#include "strategies/measure/machine_fit/fit_links.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace lockstep {

namespace {

using Kind = MachineMeasurement::Kind;
using Sizes = std::map<std::int64_t, double>;  // seconds by bytes

/// The least size is its latency, the largest the rest.
[[nodiscard]] MachineLink link_of(int from, int to, const Sizes& sizes) {
  const auto& [least, latency] = *sizes.begin();
  const auto& [most, time] = *sizes.rbegin();
  MachineLink out;
  out.from = from;
  out.to = to;
  out.latency = Duration::picoseconds(std::llround(latency * 1e12));
  const double rate = static_cast<double>(most - least) / std::max(1e-12, time - latency);
  out.bandwidth = Rate::bytes_per_second(std::max<std::int64_t>(1, std::llround(rate)));
  return out;
}

[[nodiscard]] const MachineLink* find(const MachineLinks& links, int from, int to) {
  for (const MachineLink& each : links.pairs) {
    if (each.from == from && each.to == to) return &each;
  }
  return nullptr;
}

/// What all that one GPU sends to all others at once adds up to; no less than one link.
void add_port(const std::vector<MachineMeasurement>& measurements, MachineLinks& out) {
  double rate = 0;
  for (const MachineLink& link : out.pairs)
    rate = std::max(rate, link.bandwidth.bytes_per_second());
  for (const MachineMeasurement& each : measurements) {
    if (each.kind != Kind::peers || each.what != "everyone") continue;
    rate = std::max(rate, static_cast<double>(each.bytes) * (each.to - 1) / each.seconds);
  }
  out.port = Rate::bytes_per_second(std::max<std::int64_t>(1, std::llround(rate)));
}

/// The mean of what a copy takes while one comes the other way, over what it takes alone.
void add_both_ways(const std::vector<MachineMeasurement>& measurements, MachineLinks& out) {
  double sum = 0;
  double count = 0;
  for (const MachineMeasurement& each : measurements) {
    if (each.kind != Kind::peers || each.what != "both ways") continue;
    const MachineLink* one = find(out, each.from, each.to);
    const MachineLink* other = find(out, each.to, each.from);
    if (one == nullptr || other == nullptr) continue;
    sum += each.seconds / std::max(seconds_of(*one, each.bytes), seconds_of(*other, each.bytes));
    ++count;
  }
  out.both_ways = count == 0 ? 1 : std::clamp(sum / count, 1.0, 2.0);
}

}  // namespace

double seconds_of(const MachineLink& link, std::int64_t bytes) {
  return link.latency.seconds() + static_cast<double>(bytes) / link.bandwidth.bytes_per_second();
}

MachineLinks fit_links(const std::vector<MachineMeasurement>& measurements) {
  std::map<std::pair<int, int>, Sizes> pairs;
  for (const MachineMeasurement& each : measurements) {
    if (each.kind != Kind::peer || each.what != "copy") continue;
    pairs[{each.from, each.to}][each.bytes] = each.seconds;
  }
  MachineLinks out;
  for (const auto& [pair, sizes] : pairs) {
    out.pairs.push_back(link_of(pair.first, pair.second, sizes));
  }
  if (out.pairs.empty()) return out;
  add_port(measurements, out);
  add_both_ways(measurements, out);
  return out;
}

}  // namespace lockstep
