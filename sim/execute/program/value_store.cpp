#include "sim/execute/program/value_store.hpp"

#include <fmt/format.h>

#include <limits>

#include "sim/execute/kernels/execution_error.hpp"
#include "sim/execute/kernels/random_bits.hpp"

namespace lockstep::execution {

namespace {

/// Tokens that an expert may get, so that none is ever dropped: all of them. 0: no experts.
[[nodiscard]] std::int64_t slots_for_all(const Program& program) {
  for (const Routine& routine : program.routines) {
    for (const Operation& operation : routine.operations) {
      if (operation.kind == OperationKind::dispatch) {
        return global_elements(program.tensors[read_of(operation, Operand::experts).tensor]);
      }
    }
  }
  return 0;
}

/// Keys that have travelled along a ring are those of a rank further back.
[[nodiscard]] int rank_of_part(const Program& program, int rank, const Operation& operation,
                               const Tensor& tensor) {
  const Extent* sequence = find_extent(tensor, Dim::sequence);
  const bool travels = operation.ring_offset > 0 && find_extent(tensor, Dim::kv_heads) != nullptr;
  if (!travels || sequence == nullptr) return rank;
  const int size = program.mesh.size(sequence->shards);
  const int own = program.mesh.coordinate(rank, sequence->shards);
  return program.mesh.moved(rank, sequence->shards,
                            (own + size - operation.ring_offset % size) % size);
}

}  // namespace

/// The weight that a tensor is, or is a copy of.
const Tensor& original(const Program& program, const Tensor& tensor) {
  const Tensor* out = &tensor;
  while (out->copy_of) out = &program.tensors[*out->copy_of];
  return *out;
}

bool is_weight(const Program& program, const Tensor& tensor) {
  return original(program, tensor).category == Category::weight &&
         (tensor.copy_of || tensor.category == Category::weight);
}

template <class Real>
ValueStore<Real>::ValueStore(const ExecutionState& state, const ExecutionOptions& options)
    : state_{state},
      options_{options},
      inputs_{program_inputs(state.program())},
      layouts_{state.program(), options.expert_slots.value_or(slots_for_all(state.program()))} {
  for (const RankCursor& cursor : state.cursors()) begin(cursor);
}

template <class Real>
void ValueStore<Real>::begin(const RankCursor& cursor) {
  const RoleProgram& role = *cursor.role;
  held_.emplace_back(role.instances.size());
  note_first_uses(cursor);
  for (std::uint32_t i = 0; i < role.instances.size(); ++i) {
    const Tensor& tensor = role.tensor(i);
    const TensorInstance& instance = role.instances[i];
    HeldValues<Real>& of = held(cursor.rank, i);
    of.kept = tensor.resident && tensor.category != Category::gradient &&
              !inputs_.contains(instance.tensor);
    if (!of.kept) continue;
    of.written = true;
    const PartLayout& layout = layouts_.of(instance.tensor, cursor.rank);
    of.values.assign(static_cast<std::size_t>(layout.elements()), 0);
    if (!is_weight(state_.program(), tensor)) continue;
    const std::string& name = original(state_.program(), tensor).name;
    const std::vector<std::int64_t> places = layout.global_indices();
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (places[k] < 0) continue;
      of.values[k] =
          static_cast<Real>(initial_weight(options_.seed, name, instance.position, places[k]));
    }
  }
}

template <class Real>
void ValueStore<Real>::note_first_uses(const RankCursor& cursor) {
  std::vector<bool> used(cursor.role->instances.size(), false);
  for (const RoleOperation& operation : cursor.role->operations) {
    for (const std::uint32_t read : operation.reads) {
      if (!used[read]) held(cursor.rank, read).read_first = true;
      used[read] = true;
    }
    for (const std::uint32_t write : operation.writes) used[write] = true;
  }
}

template <class Real>
void ValueStore<Real>::begin_step(int step) {
  for (const RankCursor& cursor : state_.cursors()) {
    for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
      held(cursor.rank, i).writer = kNoOperation;
      if (!held(cursor.rank, i).kept) begin_instance(cursor, i, step);
    }
  }
}

/// Inputs are loaded, what else is resident begins with zeros.
template <class Real>
void ValueStore<Real>::begin_instance(const RankCursor& cursor, std::uint32_t instance, int step) {
  const TensorInstance& what = cursor.role->instances[instance];
  const Tensor& tensor = cursor.role->tensor(instance);
  HeldValues<Real>& of = held(cursor.rank, instance);
  of.values.clear();
  of.written = tensor.resident;
  if (!tensor.resident) return;
  const PartLayout& part = layouts_.of(what.tensor, cursor.rank);
  const auto input = inputs_.find(what.tensor);
  if (input == inputs_.end()) {
    of.values.assign(static_cast<std::size_t>(part.elements()), 0);
    return;
  }
  for (const double value :
       input_values(mixed(options_.seed, static_cast<std::uint64_t>(step)), tensor, input->second,
                    part, what.microbatch, options_.sample_of)) {
    of.values.push_back(static_cast<Real>(value));
  }
}

template <class Real>
const PartLayout& ValueStore<Real>::layout(const RankCursor& cursor, std::uint32_t operation,
                                           std::uint32_t instance) {
  const int rank =
      rank_of_part(state_.program(), cursor.rank, *cursor.operation(operation).operation,
                   cursor.role->tensor(instance));
  return layouts_.of(cursor.role->instances[instance].tensor, rank);
}

template <class Real>
const std::vector<Real>& ValueStore<Real>::read(const RankCursor& cursor, std::uint32_t operation,
                                                std::uint32_t instance) const {
  const HeldValues<Real>& of = held(cursor.rank, instance);
  if (of.written) return of.values;
  throw ExecutionError{fmt::format("{} reads {}, which nobody has written",
                                   state_.who(cursor, operation),
                                   cursor.role->tensor(instance).name)};
}

template <class Real>
void ValueStore<Real>::store(const RankCursor& cursor, std::uint32_t operation,
                             std::uint32_t instance, std::vector<Real> values, bool add) {
  HeldValues<Real>& of = held(cursor.rank, instance);
  of.writer = operation;
  const auto text = [&](std::string_view what) {
    return fmt::format("{} {}", state_.who(cursor, operation), what);
  };
  const Tensor& tensor = cursor.role->tensor(instance);
  if (add && of.written) {
    if (of.values.size() != values.size()) {
      throw ExecutionError{text(
          fmt::format("adds {} values to {} of {}", values.size(), of.values.size(), tensor.name))};
    }
    for (std::size_t i = 0; i < values.size(); ++i) of.values[i] += values[i];
    return;
  }
  if (add && tensor.category != Category::gradient) {
    throw ExecutionError{text(fmt::format("adds to {}, which nobody has written", tensor.name))};
  }
  of.values = std::move(values);
  of.written = true;
}

template <class Real>
std::int64_t ValueStore<Real>::allocate(const RankCursor& cursor, std::uint32_t instance) {
  const PartLayout& part = layouts_.of(cursor.role->instances[instance].tensor, cursor.rank);
  held(cursor.rank, instance)
      .values.assign(static_cast<std::size_t>(part.elements()),
                     std::numeric_limits<Real>::quiet_NaN());
  return part.elements();
}

template <class Real>
void ValueStore<Real>::release(const RankCursor& cursor, std::uint32_t instance) {
  HeldValues<Real>& of = held(cursor.rank, instance);
  of.values = {};
  of.written = false;
}

template class ValueStore<float>;
template class ValueStore<double>;

}  // namespace lockstep::execution
