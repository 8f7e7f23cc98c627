#include "strategies/nccl/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/base/check.hpp"
#include "strategies/nccl/bandwidth.hpp"
#include "strategies/nccl/latency.hpp"
#include "strategies/nccl/nccl_case.hpp"
#include "strategies/nccl/permission.hpp"

namespace lockstep {
namespace {

using namespace nccl;

Duration from_microseconds(double us) {
  constexpr double kLongest = 9e12;  // what 64 bits of picoseconds hold
  if (!(us < kLongest)) detail::throw_overflow("Duration");
  return Duration::picoseconds(std::llround(us * 1e6));
}

/// Messages that would leave threads idle are given to fewer channels.
int channels_for(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol, Bytes size) {
  const bool switches = algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree;
  if (switches || algorithm == NcclAlgorithm::collnet_direct) return one.facts.channels;
  const NcclThreads& threads = one.tuning.threads;
  const bool ring = algorithm == NcclAlgorithm::ring;
  const double all_channels = one.facts.ring.channels * gigabytes_per_second(one.facts.ring.intra);
  const bool slow = ring && protocol == NcclProtocol::simple &&
                    all_channels <= gigabytes_per_second(threads.slow);
  const std::int64_t per_channel = slow ? threads.simple_slow : threads.per_channel[protocol];
  const std::int64_t ranks = ring && protocol == NcclProtocol::ll ? one.facts.ranks : 1;
  const Int128 least = Int128{threads.least_bytes[protocol].count()} * per_channel * ranks;
  if (least == 0) return one.facts.channels;
  const Int128 filled = size.count() / least;
  return static_cast<int>(std::clamp<Int128>(filled, 1, one.facts.channels));
}

/// The latency of a ring with Simple between nodes jumps where channels have something to do.
double plateau(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol, Bytes size) {
  const NcclRingPlateau& plateau = one.tuning.ring_plateau;
  const bool concerned = algorithm == NcclAlgorithm::ring && protocol == NcclProtocol::simple &&
                         one.facts.nodes > 1 && one.all_reduce();
  if (!concerned) return 1;
  const std::int64_t sharers = std::int64_t{one.facts.channels} * one.facts.ranks;
  return size.count() / sharers >= plateau.from.count() ? plateau.factor[one.facts.architecture]
                                                        : 1;
}

double correction(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol, Bytes size) {
  if (algorithm != NcclAlgorithm::tree) return 1;
  const NcclTreeCorrection& table = one.tuning.tree_correction;
  const std::int64_t times = size.count() / table.from.count();
  if (times == 0) return 1;
  const auto row = static_cast<std::size_t>(floor_log2(times));
  const auto& factors = table.factors[protocol];
  return row < factors.size() ? factors[row] : 1;
}

Duration time_of(const NcclCase& one, NcclAlgorithm algorithm, NcclProtocol protocol, Bytes size) {
  const double bandwidth =
      nccl_bandwidth(one, algorithm, protocol) * correction(one, algorithm, protocol, size);
  if (!(bandwidth > 0)) return {};
  const double latency =
      nccl_latency(one, algorithm, protocol) * plateau(one, algorithm, protocol, size);
  return from_microseconds(latency + static_cast<double>(size.count()) / (1000 * bandwidth));
}

NcclEstimate estimate(const NcclCase& one, const NcclFilter& choice, NcclAlgorithm algorithm,
                      NcclProtocol protocol, Bytes size) {
  NcclEstimate out;
  out.algorithm = algorithm;
  out.protocol = protocol;
  out.channels = channels_for(one, algorithm, protocol, size);
  if (nccl_models(one, algorithm, protocol)) out.time = time_of(one, algorithm, protocol, size);
  out.why_not = nccl_refusal(one, choice, algorithm, protocol);
  if (out.why_not.empty() && out.time == Duration{}) out.why_not = "no bandwidth";
  out.allowed = out.why_not.empty();
  return out;
}

}  // namespace

std::vector<NcclEstimate> nccl_estimates(const NcclTuning& tuning, const NcclFacts& facts,
                                         Collective collective, Bytes size,
                                         const NcclFilters& filters) {
  LOCKSTEP_CHECK(facts.nodes >= 1 && facts.ranks >= facts.nodes && facts.channels >= 1);
  std::vector<NcclEstimate> out;
  if (!nccl_chooses(collective) || facts.ranks == 1) return out;
  const NcclCase one{tuning, facts, collective};
  for (const NcclAlgorithm algorithm : nccl_values<NcclAlgorithm>()) {
    for (const NcclProtocol protocol : nccl_values<NcclProtocol>()) {
      out.push_back(estimate(one, filters[collective], algorithm, protocol, size));
    }
  }
  return out;
}

std::optional<NcclEstimate> nccl_pick(const NcclTuning& tuning, const NcclFacts& facts,
                                      Collective collective, Bytes size,
                                      const NcclFilters& filters) {
  std::optional<NcclEstimate> best;
  for (NcclEstimate& one : nccl_estimates(tuning, facts, collective, size, filters)) {
    if (one.allowed && (!best || one.time < best->time)) best = std::move(one);
  }
  return best;
}

}  // namespace lockstep
