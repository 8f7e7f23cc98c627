#include "strategies/measure/fit/fit_costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "strategies/measure/fit/least_squares.hpp"

namespace lockstep {

namespace {

/// Figures are fitted per microsecond and per megabyte, so that all are of like size.
constexpr double kMicro = 1e-6;
constexpr double kMega = 1e6;
constexpr std::uint64_t kStep = 10'000'000;  // bytes/s, to which rates are rounded
/// Microseconds per megabyte below which bytes take no time of their own: 100 TB/s.
constexpr double kNothing = 0.01;

/// The nonlinear part of a cost, and which terms are fitted.
struct FitForm {
  bool loops = false;             // fits the loops of NVLS
  std::optional<Duration> hop{};  // given, not fitted
  std::optional<Bytes> hop_hidden_by{};
};

FitRow row_of(const CostPoint& point, const FitForm& form) {
  const NcclCostTerms& terms = point.terms;
  // Where all rows have equally many ranks, what is sent and what is one's own cannot be told
  // apart, and the first in line gets it. Inside a node that is what holds for other numbers of
  // ranks: a rank's own part. Between nodes, and of switches, it is what passes the NIC or the
  // switch.
  const NcclCostKey& key = point.key;
  const bool own = !key.several_nodes && key.kind != NcclCostKind::nvls;
  NcclCost given;
  given.hop = form.hop.value_or(Duration{});
  given.hop_hidden_by = form.hop_hidden_by;
  const double hops = form.hop ? 0 : terms.hops;
  return {{1, hops, terms.network_hops, own ? terms.own_bytes / kMega : 0, terms.wire_bytes / kMega,
           form.loops ? terms.loops : 0},
          (point.links_s + nccl_cost_time(given, terms).seconds()) / kMicro,
          point.measured_s / kMicro};
}

Duration duration_of(double microseconds) {
  return Duration::picoseconds(std::llround(microseconds * 1e3) * 1000);
}

/// From microseconds per megabyte.
std::optional<Rate> rate_of(double pace) {
  if (pace < kNothing) return std::nullopt;
  const double whole = std::round(kMega / (pace * kMicro) / static_cast<double>(kStep));
  return Rate::bytes_per_second(static_cast<std::uint64_t>(std::max(1.0, whole)) * kStep);
}

NcclCost cost_of_figures(const NcclCostKey& key, const std::vector<double>& figures,
                         const FitForm& form) {
  NcclCost out;
  out.key = key;
  out.launch = duration_of(figures[0]);
  out.hop = form.hop.value_or(duration_of(figures[1]));
  out.hop_hidden_by = form.hop_hidden_by;
  out.network_hop = duration_of(figures[2]);
  out.own = rate_of(figures[3]);
  out.wire = rate_of(figures[4]);
  out.loop = duration_of(figures[5]);
  return out;
}

/// As if one figure had been measured alone, once.
void add_prior(double seconds, std::size_t figure, std::vector<FitRow>& rows) {
  if (seconds <= 0) return;
  FitRow row{std::vector<double>(6, 0), 0, seconds / kMicro};
  row.terms[figure] = 1;
  rows.push_back(std::move(row));
}

using Points = std::vector<CostPoint>;

FittedCost fitted(const Points& points, const HopPriors& priors, const FitForm& form) {
  const NcclCostKey& key = points.front().key;
  std::vector<FitRow> rows;
  for (const CostPoint& point : points) rows.push_back(row_of(point, form));
  const bool hops = key.kind == NcclCostKind::ring || key.kind == NcclCostKind::tree;
  if (hops && !form.hop) add_prior(priors.hop_s, 1, rows);
  if (hops && key.several_nodes) add_prior(priors.network_hop_s, 2, rows);
  FittedCost out;
  out.cost = cost_of_figures(key, fit_non_negative(rows), form);
  std::vector<double> errors;
  for (const CostPoint& point : points) errors.push_back(error_of(point, {out.cost}));
  out.errors = error_figures(errors);
  return out;
}

/// A term more than launch, hops and bytes has to earn its place.
bool is_much_better(double error, double than) {
  return error < than * 2 / 3;
}

/// Points of one key each, in order of first appearance.
std::vector<Points> points_by_key(std::span<const CostPoint> points) {
  std::vector<Points> out;
  for (const CostPoint& point : points) {
    const auto found = std::find_if(out.begin(), out.end(), [&point](const Points& each) {
      return each.front().key == point.key;
    });
    if (found == out.end())
      out.push_back({point});
    else
      found->push_back(point);
  }
  return out;
}

/// Fits the keys in turn, then the terms that several share.
class CostFit {
 public:
  CostFit(std::span<const CostPoint> points, const ProtocolPriors& priors, std::size_t least)
      : priors_{priors} {
    for (Points& each : points_by_key(points))
      if (each.size() >= least) keys_.push_back({std::move(each), {}});
  }

  [[nodiscard]] std::vector<FittedCost> run() {
    for (Key& key : keys_) {
      key.fit = fit(key, {});
      if (key.of().kind == NcclCostKind::nvls) try_loops(key);
    }
    std::vector<bool> done(keys_.size(), false);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (done[i] || !overlaps_slices(keys_[i].of())) continue;
      std::vector<Key*> shares;
      for (std::size_t j = i; j < keys_.size(); ++j)
        if (shares_hops(keys_[i].of(), keys_[j].of())) {
          done[j] = true;
          shares.push_back(&keys_[j]);
        }
      try_hidden_hops(shares);
    }
    std::vector<FittedCost> out;
    for (Key& key : keys_) out.push_back(std::move(key.fit));
    return out;
  }

 private:
  struct Key {
    Points points{};
    FittedCost fit{};
    [[nodiscard]] const NcclCostKey& of() const { return points.front().key; }
  };

  /// Rings with Simple cut a chunk into slices, so that the next slice is on the links while a
  /// neighbor is notified of the last one. LL and LL128 have one slice.
  static bool overlaps_slices(const NcclCostKey& key) {
    return key.kind == NcclCostKind::ring && key.protocol == NcclProtocol::simple &&
           !key.several_nodes;
  }
  /// A hop is one of the library on a device, whatever the collective.
  static bool shares_hops(const NcclCostKey& a, const NcclCostKey& b) {
    return overlaps_slices(b) && a.version == b.version && a.architecture == b.architecture;
  }

  [[nodiscard]] FittedCost fit(const Key& key, const FitForm& form) const {
    return fitted(key.points, priors_[key.of().protocol], form);
  }

  void try_loops(Key& key) const {
    FitForm form;
    form.loops = true;
    FittedCost with = fit(key, form);
    if (is_much_better(with.errors.mean, key.fit.errors.mean)) key.fit = std::move(with);
  }

  /// Different numbers of ranks tell hops from the launch.
  static bool tell_hops(const std::vector<Key*>& keys) {
    return std::any_of(keys.begin(), keys.end(), [](const Key* key) {
      return std::any_of(key->points.begin(), key->points.end(), [key](const CostPoint& point) {
        return point.terms.hops != key->points.front().terms.hops;
      });
    });
  }

  void try_hidden_hops(const std::vector<Key*>& keys) const {
    if (!tell_hops(keys)) return;
    double least = 0;
    for (const Key* key : keys)
      least += key->fit.errors.mean * static_cast<double>(key->points.size());
    const double plain = least;
    std::optional<FitForm> best;
    for (int i = 0; i < kHiddenSizes; ++i) {
      FitForm form;
      form.hop_hidden_by = kHiddenGrain * std::llround(4 * std::exp2(i / 4.0));
      const double hop = least_in(0, kMostHop, kHopSteps, [&](double us) {
        form.hop = duration_of(us);
        return sum_of_errors(keys, form);
      });
      form.hop = duration_of(hop);
      const double error = sum_of_errors(keys, form);
      if (error >= least) continue;
      least = error;
      best = form;
    }
    if (!best || !is_much_better(least, plain)) return;
    for (Key* key : keys) key->fit = fit(*key, *best);
  }

  [[nodiscard]] double sum_of_errors(const std::vector<Key*>& keys, const FitForm& form) const {
    double out = 0;
    for (const Key* key : keys)
      out += fit(*key, form).errors.mean * static_cast<double>(key->points.size());
    return out;
  }

  static constexpr Bytes kHiddenGrain{1 << 18U};
  static constexpr int kHiddenSizes = 25;  // 1 to 64 MiB, four per octave
  static constexpr double kMostHop = 50;   // us
  static constexpr int kHopSteps = 16;

  const ProtocolPriors& priors_;
  std::vector<Key> keys_{};
};

}  // namespace

std::vector<FittedCost> fit_costs(std::span<const CostPoint> points, const ProtocolPriors& priors,
                                  std::size_t least) {
  return CostFit{points, priors, least}.run();
}

double error_of(const CostPoint& point, const std::vector<NcclCost>& costs) {
  const NcclCost* cost = find_nccl_cost(costs, point.key);
  const double beside = nccl_cost_time(cost == nullptr ? NcclCost{} : *cost, point.terms).seconds();
  return (point.links_s + beside) / point.measured_s - 1;
}

}  // namespace lockstep
