#include "sim/program/tensor.hpp"

#include <algorithm>
#include <array>

#include "sim/base/math.hpp"

namespace lockstep {

std::string_view to_string(Dtype dtype) {
  static constexpr std::array<std::string_view, 9> kNames{
      "fp64", "fp32", "bf16", "fp16", "fp8", "fp8_block", "nvfp4", "int32", "uint8"};
  return kNames[static_cast<std::size_t>(dtype)];
}

std::int64_t bytes_per_element(Dtype dtype) {
  static constexpr std::array<std::int64_t, 9> kSizes{8, 4, 2, 2, 1, 1, 1, 4, 1};
  return kSizes[static_cast<std::size_t>(dtype)];
}

Bytes storage(Dtype dtype, std::int64_t elements) {
  constexpr std::int64_t kElements = 32;
  if (dtype == Dtype::fp8_block) return Bytes{elements + ceil_div(elements, kElements)};
  if (dtype == Dtype::nvfp4) return Bytes{ceil_div(elements * 18, kElements)};
  return Bytes{elements * bytes_per_element(dtype)};
}

std::string_view to_string(Category category) {
  static constexpr std::array<std::string_view, 5> kNames{"weight", "gradient", "optimizer_state",
                                                          "activation", "buffer"};
  return kNames[static_cast<std::size_t>(category)];
}

std::string_view to_string(Dim dim) {
  static constexpr std::array<std::string_view, 27> kNames{
      "batch",      "sequence", "hidden", "heads",   "kv_heads",   "head_size", "value_size",
      "query_rank", "kv_rank",  "keys",   "ffn",     "vocabulary", "positions", "expert",
      "slot",       "choice",   "time",   "height",  "width",      "channels",  "window",
      "statistic",  "joined",   "matrix", "element", "condition",  "label"};
  return kNames[static_cast<std::size_t>(dim)];
}

const Extent* find_extent(const Tensor& tensor, Dim dim) {
  const auto found = std::find_if(tensor.extents.begin(), tensor.extents.end(),
                                  [&](const Extent& extent) { return extent.dim == dim; });
  return found == tensor.extents.end() ? nullptr : &*found;
}

std::int64_t local_size(const Mesh& mesh, const Extent& extent) {
  return ceil_div<std::int64_t>(extent.size, mesh.size(extent.shards));
}

std::int64_t unflattened_elements(const Mesh& mesh, const Tensor& tensor) {
  std::int64_t gemm = 1;
  for (const Extent& extent : tensor.extents) gemm *= local_size(mesh, extent);
  return gemm;
}

std::int64_t local_elements(const Mesh& mesh, const Tensor& tensor) {
  return ceil_div<std::int64_t>(unflattened_elements(mesh, tensor), mesh.size(tensor.flat));
}

Bytes local_bytes(const Mesh& mesh, const Tensor& tensor) {
  return storage(tensor.dtype, local_elements(mesh, tensor));
}

std::int64_t global_elements(const Tensor& tensor) {
  std::int64_t gemm = 1;
  for (const Extent& extent : tensor.extents) gemm *= extent.size;
  return gemm;
}

}  // namespace lockstep
