#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/execute/device_kernels/kernel_launch.hpp"
#include "sim/execute/device_kernels/number_type.hpp"
#include "sim/execute/kernels/kernels.hpp"

/// One operation on a rank's parts as kernels for a device.
namespace lockstep {

/// Names an operand: one of the operation's reads, of its writes, or of its scratch buffers.
struct LoweredOperand {
  enum class Of : std::uint8_t { reads, writes, beside };
  Of of = Of::reads;
  std::size_t index = 0;
};

/// A buffer that holds nothing before the operation and nothing that counts after it.
struct LoweredBeside {
  std::int64_t elements = 0;
  NumberType type = NumberType::fp32;
  std::optional<std::size_t> as_read{};  // instead: the type of one of the operation's reads
};

struct LoweredKernel {
  KernelLaunch launch;
  std::vector<LoweredOperand> reads{};
  std::vector<LoweredOperand> writes{};
};

/// Kernels in the order in which one stream does them.
struct LoweredOperation {
  std::vector<LoweredKernel> kernels{};
  std::vector<LoweredBeside> beside{};
};

/// Elements of a scratch buffer, where an operation may be done in parts: 512 MiB in fp32.
inline constexpr std::int64_t kMostBeside = std::int64_t{1} << 27;

/// `call`: operands without values. `adds`: per written tensor, whether to what it holds. Every
/// kind of computation has kernels of its own. Errors: ExecutionError for operands that do not fit.
template <class Real>  // float, double: what is computed in
[[nodiscard]] LoweredOperation lower_operation(const KernelCall<Real>& call,
                                               const std::vector<bool>& adds,
                                               std::int64_t most_beside = kMostBeside);

/// Whether an operation may write where it reads, element by element.
[[nodiscard]] bool works_in_place(OperationKind kind);

}  // namespace lockstep
