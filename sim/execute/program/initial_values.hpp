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

/// What the elements of a weight begin with: a function of its name, its position and the place in
/// the whole tensor, so that every way to spread a model begins alike. Gains lie around 1, all else
/// around 0.
[[nodiscard]] double initial_weight(std::uint64_t seed, const std::string& name, int position,
                                    std::int64_t index);

/// The tensors that the data loader fills, and with what.
struct ProgramInput {
  enum class Kind : std::uint8_t { real, index, position };
  Kind kind = Kind::real;
  std::int64_t bound = 1;  // of an index
};
/// By tensor: what is resident, read, and written by nobody. Indices into tables are found by
/// following the tensor to the operation that looks them up.
[[nodiscard]] std::map<TensorId, ProgramInput> program_inputs(const Program& program);

/// Which sample of the data stands at an index of a microbatch of `batch` samples. By default one
/// after the other.
using SampleOf =
    std::function<std::int64_t(int microbatch, std::int64_t index, std::int64_t batch)>;

/// A rank's part of an input, a function of the samples alone: however they are cut into
/// microbatches and ranks, the same sample has the same numbers.
[[nodiscard]] std::vector<double> input_values(std::uint64_t seed, const Tensor& tensor,
                                               const ProgramInput& input, const PartLayout& layout,
                                               int microbatch, const SampleOf& sample_of);

}  // namespace lockstep
