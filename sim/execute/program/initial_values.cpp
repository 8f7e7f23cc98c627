#include "sim/execute/program/initial_values.hpp"

#include <set>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/random_bits.hpp"

namespace lockstep {

namespace {

using Kind = OperationKind;

constexpr double kWidth = 0.4;

/// What an operation that reads a tensor as its `operand`th says about it.
[[nodiscard]] std::optional<ProgramInput> told_by(const Program& program,
                                                  const Operation& operation, std::size_t operand) {
  const auto tensor = [&](Operand of) -> const Tensor& {
    return program.tensors[read_of(operation, of).tensor];
  };
  const auto is = [&](Operand of) { return read_place(operation, of) == operand; };
  if (is(Operand::tokens) && reads(operation, Operand::table)) {
    const Extent& rows = tensor(Operand::table).extents.front();
    return ProgramInput{
        rows.dim == Dim::positions ? ProgramInput::Kind::position : ProgramInput::Kind::index,
        rows.size};
  }
  if (is(Operand::labels)) {
    return ProgramInput{ProgramInput::Kind::index, tensor(Operand::logits).extents.back().size};
  }
  return std::nullopt;
}

[[nodiscard]] bool passes_on(Kind kind) {
  return kind == Kind::slice || kind == Kind::collective || kind == Kind::host_copy;
}

class Inputs {
 public:
  explicit Inputs(const Program& program) : program_{program} {}

  [[nodiscard]] std::map<TensorId, ProgramInput> find() const {
    std::set<TensorId> read;
    std::set<TensorId> written;
    for (const Routine& routine : program_.routines) {
      for (const Operation& operation : routine.operations) {
        for (const Ref& ref : operation.reads) read.insert(ref.tensor);
        for (const Ref& ref : operation.writes) written.insert(ref.tensor);
      }
    }
    std::map<TensorId, ProgramInput> out;
    for (const TensorId id : read) {
      const Tensor& tensor = program_.tensors[id];
      const bool loaded = tensor.resident && tensor.category == Category::buffer &&
                          !tensor.copy_of && !written.contains(id);
      if (loaded) out.emplace(id, input(id).value_or(ProgramInput{}));
    }
    return out;
  }

 private:
  [[nodiscard]] std::optional<ProgramInput> input(TensorId id) const {
    for (const Routine& routine : program_.routines) {
      for (const Operation& operation : routine.operations) {
        for (std::size_t i = 0; i < operation.reads.size(); ++i) {
          if (operation.reads[i].tensor != id) continue;
          auto told = told_by(program_, operation, i);
          if (!told && passes_on(operation.kind)) told = input(operation.writes[i].tensor);
          if (told) return told;
        }
      }
    }
    return std::nullopt;
  }

  const Program& program_;
};

/// Splits an index of the whole tensor into that along the batch, that along the sequence and what
/// is left of both.
struct Place {
  std::int64_t batch = 0;
  std::int64_t sequence = 0;
  std::int64_t within = 0;  // the sample
};
[[nodiscard]] Place place_of(const Tensor& tensor, std::int64_t index) {
  Place out;
  std::int64_t stride = 1;
  for (std::size_t i = tensor.extents.size(); i-- > 0;) {
    const Extent& extent = tensor.extents[i];
    const std::int64_t at = index % extent.size;
    index /= extent.size;
    if (extent.dim == Dim::batch) {
      out.batch = at;
      continue;
    }
    if (extent.dim == Dim::sequence) out.sequence = at;
    out.within += at * stride;
    stride *= extent.size;
  }
  return out;
}

[[nodiscard]] double value_of(const ProgramInput& input, const Place& place, std::uint64_t draw) {
  switch (input.kind) {
    case ProgramInput::Kind::position:
      return static_cast<double>(place.sequence);
    case ProgramInput::Kind::index:
      return static_cast<double>(draw % static_cast<std::uint64_t>(input.bound));
    case ProgramInput::Kind::real:
      return 2 * unit_interval(draw) - 1;
  }
  return 0;
}

}  // namespace

double initial_weight(std::uint64_t seed, const std::string& name, int position,
                      std::int64_t index) {
  const std::uint64_t place = mixed(mixed(seed, name), static_cast<std::uint64_t>(position));
  const double drawn = unit_interval(mixed(place, static_cast<std::uint64_t>(index)));
  return (name.ends_with(".gain") ? 1 : 0) + kWidth * (2 * drawn - 1);
}

std::map<TensorId, ProgramInput> program_inputs(const Program& program) {
  return Inputs{program}.find();
}

std::vector<double> input_values(std::uint64_t seed, const Tensor& tensor,
                                 const ProgramInput& input, const PartLayout& layout,
                                 int microbatch, const SampleOf& sample_of) {
  const Extent* batch = find_extent(tensor, Dim::batch);
  std::vector<double> out;
  for (const std::int64_t index : layout.global_indices()) {
    if (index < 0) {
      out.push_back(0);
      continue;
    }
    const Place place = place_of(tensor, index);
    std::int64_t sample = 0;  // the same for all of them where there is no batch
    if (batch != nullptr)
      sample = sample_of ? sample_of(microbatch, place.batch, batch->size)
                         : std::int64_t{microbatch} * batch->size + place.batch;
    const std::uint64_t draw =
        mixed(mixed(mixed(seed, tensor.name), static_cast<std::uint64_t>(sample)),
              static_cast<std::uint64_t>(place.within));
    out.push_back(value_of(input, place, draw));
  }
  return out;
}

}  // namespace lockstep
