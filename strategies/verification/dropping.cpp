#include "strategies/verification/dropping.hpp"

#include <map>
#include <memory>
#include <utility>

#include "sim/execute/kernels/part_layout.hpp"

namespace lockstep {

namespace {

[[nodiscard]] const Operation* first_dispatch(const Program& program) {
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      if (operation.kind == OperationKind::dispatch) return &operation;
    }
  }
  return nullptr;
}

/// (sequence of the batch, token of it) -> the lowest rank that has it.
using Owners = std::map<std::pair<std::int64_t, std::int64_t>, int>;

[[nodiscard]] Owners owners_of(const Program& program, TensorId tokens) {
  LayoutTable layouts{program, 0};
  Owners out;
  for (int rank = 0; rank < program.mesh.ranks(); ++rank) {
    const PartLayout& part = layouts.of(tokens, rank);
    for (const std::int64_t sample : part.find(Dim::batch)->at) {
      for (const std::int64_t token : part.find(Dim::sequence)->at) {
        out.emplace(std::pair{sample, token}, rank);
      }
    }
  }
  return out;
}

}  // namespace

std::optional<DroppingRule> dropping_rule(const Program& program) {
  const Operation* dispatch = first_dispatch(program);
  if (dispatch == nullptr) return std::nullopt;
  const Tensor& tokens = program.tensors[read_of(*dispatch, Operand::x).tensor];
  const Extent* slots =
      find_extent(program.tensors[write_of(*dispatch, Operand::slots).tensor], Dim::slot);
  const std::int64_t batch = find_extent(tokens, Dim::batch)->size;
  const int ranks = program.mesh.ranks();
  const auto owners =
      std::make_shared<const Owners>(owners_of(program, read_of(*dispatch, Operand::x).tensor));
  return DroppingRule{local_size(program.mesh, *slots),
                      [owners, batch, ranks](std::int64_t sample, std::int64_t token) {
                        const auto microbatch = static_cast<int>(sample / batch);
                        return microbatch * ranks + owners->at({sample % batch, token});
                      }};
}

}  // namespace lockstep
