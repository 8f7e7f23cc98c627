#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/execute/device_kernels/kernel_launch.hpp"
#include "sim/execute/device_kernels/number_type.hpp"
#include "sim/execute/kernels/kernels.hpp"

/// Lowers one operation on a rank's shards to kernels.
namespace lockstep {

/// An operand: one of the operation's reads, writes or scratch buffers.
struct LoweredOperand {
  enum class Of : std::uint8_t { reads, writes, scratch };
  Of of = Of::reads;
  std::size_t index = 0;
};

/// A scratch buffer, used only inside the operation.
struct LoweredScratch {
  std::int64_t elements = 0;
  NumberType type = NumberType::fp32;
  std::optional<std::size_t> as_read{};  // takes the type of this read
};

struct LoweredKernel {
  KernelLaunch launch;
  std::vector<LoweredOperand> reads{};
  std::vector<LoweredOperand> writes{};
};

/// Kernels in stream order.
struct LoweredOperation {
  std::vector<LoweredKernel> kernels{};
  std::vector<LoweredScratch> scratch{};
};

/// Maximum elements of a scratch buffer if an operation can be split: 512 MiB in fp32.
inline constexpr std::int64_t kMaxScratchElements = std::int64_t{1} << 27;

/// `call`: operands without values. `adds`: per written tensor, whether to accumulate. All kinds of
/// computation are supported. Throws ExecutionError for inconsistent operands.
template <class Real>  // precision of computation
[[nodiscard]] LoweredOperation lower_operation(
    const KernelCall<Real>& call, const std::vector<bool>& adds,
    std::int64_t max_scratch_elements = kMaxScratchElements);

/// run_kernel() of a call for which `lowered` was made, without accumulating, or of one that
/// differs in values alone.
template <class Real>  // float, double
void run_lowered(KernelCall<Real>& call, const LoweredOperation& lowered);

}  // namespace lockstep
