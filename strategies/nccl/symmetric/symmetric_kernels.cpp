#include "strategies/nccl/symmetric/symmetric_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep {
namespace {

constexpr std::array kKernels{
    NcclSymmetricKernel{"AllReduce_AGxLL_R", Collective::all_reduce, "one_shot", true, false},
    NcclSymmetricKernel{"AllReduce_AGxLLMC_R", Collective::all_reduce, "one_shot", true, true},
    NcclSymmetricKernel{"AllReduce_RSxLD_AGxST", Collective::all_reduce, "direct", false, false},
    NcclSymmetricKernel{"AllReduce_RSxLDMC_AGxSTMC", Collective::all_reduce, "nvls", false, true},
    NcclSymmetricKernel{"AllGather_LL", Collective::all_gather, "direct", true, false},
    NcclSymmetricKernel{"AllGather_LLMC", Collective::all_gather, "nvls", true, true},
    NcclSymmetricKernel{"AllGather_ST", Collective::all_gather, "direct", false, false},
    NcclSymmetricKernel{"AllGather_STMC", Collective::all_gather, "nvls", false, true},
    NcclSymmetricKernel{"ReduceScatter_LL", Collective::reduce_scatter, "direct", true, false},
    NcclSymmetricKernel{"ReduceScatter_LD", Collective::reduce_scatter, "direct", false, false},
    NcclSymmetricKernel{"ReduceScatter_LDMC", Collective::reduce_scatter, "nvls", false, true}};

const NcclSymmetricCosts& costs_of(const NcclWindows& windows, NcclArchitecture architecture) {
  return architecture == NcclArchitecture::blackwell ? windows.blackwell : windows.up_to_hopper;
}

/// Bytes that a rank sends or receives, as NCCL's model counts them.
double bus_bytes(const NcclSymmetricFactors& factors, const NcclSymmetricKernel& kernel,
                 const NcclSymmetricCase& of) {
  const double n = of.ranks;
  const auto size = static_cast<double>(of.size.count());
  const bool reduces_all = kernel.collective == Collective::all_reduce;
  if (kernel.ll) return (reduces_all ? n : 1) * size * factors.ll_bytes;
  if (!reduces_all) return size * (n - 1) / n;
  return kernel.multicast ? size * (1 + 1 / n) : 2 * size * (n - 1) / n;
}

/// By how much multicast lets a CTA do more.
double gain(const NcclSymmetricFactors& factors, const NcclSymmetricKernel& kernel, int ranks) {
  if (!kernel.multicast) return 1;
  if (kernel.ll) return factors.ll_multicast;
  return kernel.collective == Collective::all_reduce ? ranks : factors.multicast_per_rank * ranks;
}

/// A smooth min(x, ceiling).
double soft_min(double x, double ceiling, double softness) {
  return ceiling -
         softness * std::log1p((std::exp(ceiling / softness) - 1) * std::exp(-x / softness));
}

/// A smooth max(0, x).
double soft_plus(double x) {
  return x > 100 ? x : std::log1p(std::exp(x));
}

double bytes_per_us(Rate rate) {
  return rate.bytes_per_second() * 1e-6;
}

class Model {
 public:
  Model(const NcclWindows& windows, const NcclSymmetricKernel& kernel, const NcclSymmetricCase& of)
      : factors_{windows.factors},
        launch_us_{nccl_symmetric_launch(windows, of.architecture, kernel).seconds() * 1e6},
        bytes_{bus_bytes(factors_, kernel, of)},
        gain_{gain(factors_, kernel, of.ranks)} {
    const NcclSymmetricCosts& costs = costs_of(windows, of.architecture);
    const bool all_reduce = kernel.collective == Collective::all_reduce;
    block_ = bytes_per_us(all_reduce ? costs.block_all_reduce : costs.block);
    peak_ = bytes_per_us(kernel.spec == "nvls" && all_reduce ? costs.peak_multicast_all_reduce
                                                             : costs.peak);
    most_blocks_ = static_cast<int>(factors_.most_blocks);
    if (kernel.multicast && !kernel.ll) {
      const int all = static_cast<int>(costs.multicast_blocks);
      most_blocks_ = std::min(most_blocks_, (all + of.ranks - 1) / of.ranks);
    }
  }

  [[nodiscard]] double time_us(int blocks) const {
    const double rate = soft_min(blocks * block_ * gain_, peak_, block_);
    return launch_us_ + soft_plus(bytes_ / rate - 1);
  }

  /// The fewest that are about as fast as all.
  [[nodiscard]] int blocks() const {
    const double enough = factors_.time_for_fewer * time_us(most_blocks_);
    int blocks = 1;
    while (blocks < most_blocks_ && time_us(blocks) > enough) ++blocks;
    return blocks;
  }

 private:
  const NcclSymmetricFactors& factors_;
  double launch_us_;
  double bytes_;
  double gain_;
  double block_ = 0;  // bytes per microsecond
  double peak_ = 0;
  int most_blocks_ = 1;
};

bool can_copy(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::all_to_all ||
         collective == Collective::gather || collective == Collective::scatter;
}

}  // namespace

std::vector<NcclSymmetricKernel> nccl_symmetric_kernels(Collective collective) {
  std::vector<NcclSymmetricKernel> out;
  for (const NcclSymmetricKernel& each : kKernels)
    if (each.collective == collective) out.push_back(each);
  return out;
}

Duration nccl_symmetric_launch(const NcclWindows& windows, NcclArchitecture architecture,
                               const NcclSymmetricKernel& kernel) {
  const NcclSymmetricCosts& costs = costs_of(windows, architecture);
  if (kernel.ll)
    return kernel.collective == Collective::all_gather ? costs.ll_all_gather : costs.ll;
  return kernel.collective == Collective::all_reduce ? costs.all_reduce : costs.other;
}

std::vector<NcclSymmetricEstimate> nccl_symmetric_estimates(const NcclWindows& windows,
                                                            const NcclSymmetricCase& of) {
  std::vector<NcclSymmetricEstimate> out;
  if (!windows.has_kernels || of.ranks < 2) return out;
  for (const NcclSymmetricKernel& kernel : nccl_symmetric_kernels(of.collective)) {
    if (kernel.multicast && !of.multicast) continue;
    const Model model{windows, kernel, of};
    const int blocks = model.blocks();
    out.push_back(
        {kernel, blocks, Duration::picoseconds(std::llround(model.time_us(blocks) * 1e6))});
  }
  return out;
}

std::optional<NcclSymmetricEstimate> nccl_symmetric_pick(const NcclWindows& windows,
                                                         const NcclSymmetricCase& of) {
  const auto cost = [&](const NcclSymmetricEstimate& one) {
    return one.time.seconds() * (1 + windows.factors.cost_of_block * one.blocks);
  };
  std::optional<NcclSymmetricEstimate> best;
  for (const NcclSymmetricEstimate& one : nccl_symmetric_estimates(windows, of))
    if (!best || cost(one) < cost(*best)) best = one;
  return best;
}

bool nccl_takes_copy_engines(const NcclWindows& windows, const NcclSymmetricCase& of,
                             bool zero_ctas) {
  if (!windows.has_copy_engines || of.ranks < 2) return false;
  if (zero_ctas && can_copy(of.collective)) return true;
  const auto& above = windows.copy_engines.all_gather_above[of.architecture];
  return of.collective == Collective::all_gather && above &&
         Bytes{of.size.count() / of.ranks} > *above;
}

}  // namespace lockstep
