#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/program/mesh.hpp"

/// The tensors of a program: what they hold, how they are cut, how long they live.
namespace lockstep {

enum class Dtype : std::uint8_t { fp64, fp32, bf16, fp16, fp8, int32, uint8 };
[[nodiscard]] std::string_view to_string(Dtype dtype);
[[nodiscard]] std::int64_t bytes_per_element(Dtype dtype);

/// Category of memory on a device.
enum class Category : std::uint8_t { weight, gradient, optimizer_state, activation, buffer };
[[nodiscard]] std::string_view to_string(Category category);

/// What a dimension of a tensor means. Products contract the dimensions that both operands have and
/// the result has not; strategies cut dimensions by their meaning.
enum class Dim : std::uint8_t {
  batch,     // sequences, images or clips
  sequence,  // tokens
  hidden,    // of the residual stream
  heads,     // of queries
  kv_heads,  // of keys and values
  head_size,
  value_size,  // of a head's values, where they differ from its keys
  query_rank,  // of compressed queries (MLA)
  kv_rank,     // of compressed keys and values (MLA)
  keys,        // the tokens that are attended to, where scores are written out
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
  window,     // of a convolution: its height * width * channels in
  statistic,  // small numbers kept beside, such as a mean and a standard deviation
};
[[nodiscard]] std::string_view to_string(Dim dim);

/// One dimension of a tensor: its whole length, and the atoms that cut it into equal parts,
/// outermost first.
struct Extent {
  Dim dim = Dim::batch;
  std::int64_t size = 1;
  MeshSubAxes shards{};
  /// Of n parts, part r consists of the 2n-ths r and 2n-1-r: a balanced cut for causal attention.
  bool zigzag = false;

  friend bool operator==(const Extent&, const Extent&) = default;
};

/// How many instances of a tensor a rank has.
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
  /// Each rank along these atoms has a summand of the tensor; the tensor is their sum.
  MeshSubAxes partial{};
  /// The rank's part (after `extents`), laid out flat and padded, is cut once more along these:
  /// what ZeRO does with weights, gradients and optimizer states.
  MeshSubAxes flat{};
  /// Lives for the whole step, from before its first operation on; others from the start of the
  /// operation that first writes them to the end of the last that uses them.
  bool resident = false;
  /// In the memory of the host, not of the device.
  bool on_host = false;
  /// For numbers: the tensor whose values these begin with, such as the fp16 copy of a weight.
  std::optional<TensorId> copy_of{};
};

[[nodiscard]] const Extent* find_extent(const Tensor& tensor, Dim dim);
/// The length of a rank's part of one dimension. Every part is equally long; where the atoms do
/// not divide the dimension, ceil(size / parts).
[[nodiscard]] std::int64_t local_size(const Mesh& mesh, const Extent& extent);
/// Elements of a rank's part, before and after the flat cut.
[[nodiscard]] std::int64_t unflattened_elements(const Mesh& mesh, const Tensor& tensor);
[[nodiscard]] std::int64_t local_elements(const Mesh& mesh, const Tensor& tensor);
[[nodiscard]] Bytes local_bytes(const Mesh& mesh, const Tensor& tensor);
/// Elements of the whole tensor.
[[nodiscard]] std::int64_t global_elements(const Tensor& tensor);

}  // namespace lockstep
