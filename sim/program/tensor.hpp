#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/mesh.hpp"

/// The tensors of a program: contents, sharding and lifetime.
namespace lockstep {

/// fp8_block: fp8 with a scale of a byte per 32 elements (MXFP8; OCP Microscaling Formats 1.0) or
/// of four per 128. nvfp4: 4 bits with a scale of a byte per 16 elements.
enum class Dtype : std::uint8_t { fp64, fp32, bf16, fp16, fp8, fp8_block, nvfp4, int32, uint8 };
[[nodiscard]] std::string_view to_string(Dtype dtype);
/// Without scales, rounded up.
[[nodiscard]] std::int64_t bytes_per_element(Dtype dtype);
/// With scales, rounded up.
[[nodiscard]] Bytes storage(Dtype dtype, std::int64_t elements);
/// Whether it is a floating-point type of at most 8 bits.
[[nodiscard]] constexpr bool is_narrow(Dtype dtype) {
  return dtype >= Dtype::fp8 && dtype <= Dtype::nvfp4;
}

/// Category of memory on a device.
enum class Category : std::uint8_t { weight, gradient, optimizer_state, activation, buffer };
[[nodiscard]] std::string_view to_string(Category category);

/// Meaning of a tensor's dimension. GEMMs contract the dimensions of both operands that the result
/// lacks; strategies shard dimensions by meaning.
enum class Dim : std::uint8_t {
  batch,     // sequences, images or clips
  sequence,  // tokens
  hidden,    // of the residual stream
  heads,     // of queries
  kv_heads,  // of keys and values
  head_size,
  value_size,  // of a head's values, if it differs from that of its keys
  query_rank,  // of low-rank queries (MLA)
  kv_rank,     // of low-rank keys and values (MLA)
  keys,        // the attended tokens, in stored scores
  ffn,         // inner dimension of an MLP
  vocabulary,
  positions,  // of a table of learned positions
  expert,
  slot,    // tokens routed to an expert
  choice,  // the top k experts of a token
  time,    // frames of a clip
  height,
  width,
  channels,   // of an image
  window,     // of a convolution: height * width * input channels
  statistic,  // small auxiliary values, such as mean and standard deviation
  joined,     // hidden units of one of two streams, as their common projection reads them
  matrix,     // of a stack
  element,    // of a matrix, flattened
  condition,  // of the vector that scales, shifts and gates what a diffusion transformer computes
  label,      // of a table of images' labels
};
[[nodiscard]] std::string_view to_string(Dim dim);

/// One dimension of a tensor: its full length, and the sub-axes that shard it evenly, outermost
/// first.
struct Extent {
  Dim dim = Dim::batch;
  std::int64_t size = 1;
  MeshSubAxes shards{};
  /// Shard r of n consists of the 2n-ths r and 2n-1-r, which balances causal attention.
  bool zigzag = false;

  friend bool operator==(const Extent&, const Extent&) = default;
};

/// Number of instances of a tensor on a rank.
enum class Scope : std::uint8_t {
  step,        // one
  layer,       // one per position in the chain of blocks
  microbatch,  // one per position and microbatch
};

using TensorId = std::uint32_t;

struct Tensor {
  std::string name;  // "mlp.up.weight"
  Scope scope = Scope::microbatch;
  Category category = Category::activation;
  Dtype dtype = Dtype::bf16;
  std::vector<Extent> extents{};
  /// The tensor is the sum of partial sums on the ranks along these sub-axes.
  MeshSubAxes partial{};
  /// The local shard (after `extents`) is flattened, padded and sharded again along these, as ZeRO
  /// does with weights, gradients and optimizer states.
  MeshSubAxes flat{};
  /// Lives for the whole step; others from the start of the operation that first writes them to the
  /// end of the last that uses them.
  bool resident = false;
  /// In host memory instead of device memory.
  bool on_host = false;
  /// The tensor of which this is initially a copy, such as the fp32 weight of an fp16 copy.
  std::optional<TensorId> copy_of{};
  /// A copy of the weight as it was some steps ago.
  bool lags = false;
};

[[nodiscard]] const Extent* find_extent(const Tensor& tensor, Dim dim);
/// Local length of a sharded dimension: ceil(size / parts) on every rank.
[[nodiscard]] std::int64_t local_size(const Mesh& mesh, const Extent& extent);
/// Elements of a rank's shard, before and after flat sharding.
[[nodiscard]] std::int64_t unflattened_elements(const Mesh& mesh, const Tensor& tensor);
[[nodiscard]] std::int64_t local_elements(const Mesh& mesh, const Tensor& tensor);
[[nodiscard]] Bytes local_bytes(const Mesh& mesh, const Tensor& tensor);
/// Elements of the unsharded tensor.
[[nodiscard]] std::int64_t global_elements(const Tensor& tensor);

}  // namespace lockstep
