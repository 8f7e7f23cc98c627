#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/execute/kernels/part_layout.hpp"
#include "sim/program/program.hpp"

namespace lockstep {

/// Initial value of a weight's element: a function of name, position and global index, so that all
/// layouts start equal. Gains are near 1, all else near 0.
[[nodiscard]] double initial_weight(std::uint64_t seed, const std::string& name, int position,
                                    std::int64_t index);

/// Tensors provided by the data loader.
struct ProgramInput {
  enum class Kind : std::uint8_t { real, index, position };
  Kind kind = Kind::real;
  std::int64_t bound = 1;  // exclusive upper bound of an index
};
/// By tensor: resident tensors that are read and never written. Index ranges come from the
/// operation that uses the index.
[[nodiscard]] std::map<TensorId, ProgramInput> program_inputs(const Program& program);

/// The sample at an index of a microbatch of `batch` samples. Default: consecutive.
using SampleOf =
    std::function<std::int64_t(int microbatch, std::int64_t index, std::int64_t batch)>;

/// A rank's shard of an input. Depends only on the samples, not on microbatches or ranks.
[[nodiscard]] std::vector<double> input_values(std::uint64_t seed, const Tensor& tensor,
                                               const ProgramInput& input, const PartLayout& layout,
                                               int microbatch, const SampleOf& sample_of);

}  // namespace lockstep
