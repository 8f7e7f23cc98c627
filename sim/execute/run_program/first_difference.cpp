#include "sim/execute/run_program/first_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "sim/execute/run_program/execution_parts.hpp"

namespace lockstep {

namespace {

using execution::ExecutionParts;
using execution::HeldValues;
using execution::kNoOperation;
using execution::RankCursor;

/// Name, position, microbatch.
using Key = std::tuple<std::string, int, int>;

[[nodiscard]] Key key_of(const RoleProgram& role, std::uint32_t instance) {
  const TensorInstance& of = role.instances[instance];
  return {role.tensor(instance).name, of.position, of.microbatch};
}

[[nodiscard]] bool is_comparable(const Tensor& tensor) {
  return tensor.partial.empty() && find_extent(tensor, Dim::slot) == nullptr;
}

template <class Real>
[[nodiscard]] bool was_written(const ExecutionParts<Real>& parts, const RankCursor& cursor,
                               std::uint32_t instance) {
  const HeldValues<Real>& held = parts.values().held(cursor.rank, instance);
  return held.written && held.writer != kNoOperation &&
         is_comparable(cursor.role->tensor(instance));
}

/// Whether an operation is one of the reference, or a part of it, or communicates its result:
/// attention.part2, mlp.down.tp.all_reduce. Summands of a gradient and gathered weights are written
/// over and over; only what the same operation wrote last is comparable, of a microbatch at the
/// same position: stages add to a sum one after the other.
[[nodiscard]] bool stands_for(const std::string& name, const std::string& reference) {
  return name.starts_with(reference) &&
         (name.size() == reference.size() || name[reference.size()] == '.');
}

[[nodiscard]] bool same_dimensions(const PartLayout& a, const PartLayout& b) {
  return std::equal(
      a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
      [](const PartAxis& x, const PartAxis& y) { return x.dim == y.dim && x.size == y.size; });
}

/// What the reference holds, by key.
template <class Real>
class ReferenceValues {
 public:
  explicit ReferenceValues(ExecutionParts<Real>& parts) : parts_{parts} {
    for (const RankCursor& cursor : parts.state().cursors()) {
      for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
        if (!was_written(parts, cursor, i)) continue;
        known_.try_emplace(key_of(*cursor.role, i), Place{cursor.rank, i});
      }
    }
  }

  /// Null: nothing of that key, from another operation or in other dimensions. NaN: not held.
  [[nodiscard]] const std::vector<double>* whole(const Key& key, const RoleOperation& writer,
                                                 bool per_microbatch, const PartLayout& like) {
    const auto found = known_.find(key);
    if (found == known_.end()) return nullptr;
    const Place& place = found->second;
    const RoleProgram& role = *parts_.state().cursor(place.rank).role;
    const std::uint32_t by = parts_.values().held(place.rank, place.instance).writer;
    const RoleOperation& known = role.operations[by];
    if (!stands_for(writer.operation->name, known.operation->name)) return nullptr;
    if (per_microbatch && writer.call.position != known.call.position) return nullptr;
    const PartLayout& layout =
        parts_.values().layout_of(role.instances[place.instance].tensor, place.rank);
    if (!same_dimensions(layout, like)) return nullptr;
    std::vector<double>& out = whole_[key];
    if (out.empty()) fill(out, layout, parts_.values().held(place.rank, place.instance).values);
    return &out;
  }

 private:
  struct Place {
    int rank = 0;
    std::uint32_t instance = 0;
  };

  static void fill(std::vector<double>& out, const PartLayout& layout,
                   const std::vector<Real>& values) {
    std::int64_t elements = 1;
    for (const PartAxis& axis : layout.axes) elements *= axis.size;
    out.assign(static_cast<std::size_t>(elements), std::numeric_limits<double>::quiet_NaN());
    const std::vector<std::int64_t> places = layout.global_indices();
    for (std::size_t i = 0; i < std::min(places.size(), values.size()); ++i) {
      if (places[i] >= 0) out[static_cast<std::size_t>(places[i])] = static_cast<double>(values[i]);
    }
  }

  ExecutionParts<Real>& parts_;
  std::map<Key, Place> known_{};
  std::map<Key, std::vector<double>> whole_{};
};

/// An instance on a rank, and when the operation ended that last wrote it.
struct Written {
  std::uint64_t ended_as = 0;
  int rank = 0;
  std::uint32_t instance = 0;
};

template <class Real>
[[nodiscard]] std::vector<Written> written_in_order(ExecutionParts<Real>& parts) {
  std::vector<Written> out;
  for (const RankCursor& cursor : parts.state().cursors()) {
    for (std::uint32_t i = 0; i < cursor.role->instances.size(); ++i) {
      if (!was_written(parts, cursor, i)) continue;
      const std::uint32_t writer = parts.values().held(cursor.rank, i).writer;
      out.push_back({cursor.ended_as[writer], cursor.rank, i});
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Written& a, const Written& b) { return a.ended_as < b.ended_as; });
  return out;
}

/// "mlp.down.partial from sum_mlp (all_reduce)", or "tokens" that nobody writes.
[[nodiscard]] std::string source_text(const RoleProgram& role, std::uint32_t before,
                                      std::uint32_t instance) {
  for (std::uint32_t i = before; i-- > 0;) {
    const IndexList& writes = role.operations[i].writes;
    if (std::find(writes.begin(), writes.end(), instance) == writes.end()) continue;
    const Operation& from = *role.operations[i].operation;
    const std::string_view kind = from.kind == OperationKind::collective
                                      ? to_string(from.communication->collective)
                                      : to_string(from.kind);
    return fmt::format("{} from {} ({})", role.tensor(instance).name, from.name, kind);
  }
  return role.tensor(instance).name;
}

[[nodiscard]] std::string reads_text(const RoleProgram& role, std::uint32_t operation) {
  std::string out;
  for (const std::uint32_t read : role.operations[operation].reads) {
    out += (out.empty() ? "" : ", ") + source_text(role, operation, read);
  }
  return out;
}

[[nodiscard]] int microbatches_of(const execution::ExecutionState& state) {
  int most = 0;
  for (const RoleProgram& role : state.roles()) {
    for (const TensorInstance& instance : role.instances)
      most = std::max(most, instance.microbatch);
  }
  return most + 1;
}

template <class Real>
class Search {
 public:
  Search(ExecutionParts<Real>& parts, ExecutionParts<Real>& reference, double tolerance)
      : parts_{parts},
        reference_{reference},
        same_microbatches_{microbatches_of(parts.state()) == microbatches_of(reference.state())},
        tolerance_{tolerance} {}

  [[nodiscard]] std::optional<FirstDifference> run() {
    for (const Written& written : written_in_order(parts_)) {
      if (auto found = compare(written)) return found;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<FirstDifference> compare(const Written& written) {
    const RankCursor& cursor = parts_.state().cursor(written.rank);
    const HeldValues<Real>& held = parts_.values().held(written.rank, written.instance);
    const bool per_microbatch = cursor.role->tensor(written.instance).scope == Scope::microbatch;
    if (per_microbatch && !same_microbatches_) return std::nullopt;
    const PartLayout& layout = parts_.values().layout(cursor, held.writer, written.instance);
    const auto* whole = reference_.whole(key_of(*cursor.role, written.instance),
                                         cursor.operation(held.writer), per_microbatch, layout);
    if (whole == nullptr) return std::nullopt;
    const std::vector<std::int64_t> places = layout.global_indices();
    for (std::size_t i = 0; i < std::min(places.size(), held.values.size()); ++i) {
      if (places[i] < 0) continue;
      const double expected = (*whole)[static_cast<std::size_t>(places[i])];
      const auto value = static_cast<double>(held.values[i]);
      if (std::isnan(expected)) continue;  // not held there
      if (std::abs(value - expected) <= tolerance_ * std::max(1.0, std::abs(expected))) continue;
      return difference(cursor, written.instance, places[i], value, expected);
    }
    return std::nullopt;
  }

  [[nodiscard]] FirstDifference difference(const RankCursor& cursor, std::uint32_t instance,
                                           std::int64_t element, double value,
                                           double expected) const {
    const std::uint32_t writer = parts_.values().held(cursor.rank, instance).writer;
    FirstDifference out;
    out.rank = cursor.rank;
    out.operation = parts_.state().who(cursor, writer);
    std::tie(out.tensor, out.position, out.microbatch) = key_of(*cursor.role, instance);
    out.element = element;
    out.value = value;
    out.expected = expected;
    out.reads = reads_text(*cursor.role, writer);
    return out;
  }

  ExecutionParts<Real>& parts_;
  ReferenceValues<Real> reference_;
  bool same_microbatches_;  // else those of the same number hold other samples
  double tolerance_;
};

}  // namespace

std::string FirstDifference::text() const {
  const std::string sources = reads.empty() ? "" : "; it reads " + reads;
  return fmt::format("{} writes {}, element {} is {} where one device has {}{}", operation, tensor,
                     element, value, expected, sources);
}

template <class Real>
std::optional<FirstDifference> first_difference(BasicProgramExecution<Real>& execution,
                                                BasicProgramExecution<Real>& reference,
                                                double tolerance) {
  return Search<Real>{execution.parts(), reference.parts(), tolerance}.run();
}

template std::optional<FirstDifference> first_difference(BasicProgramExecution<float>&,
                                                         BasicProgramExecution<float>&, double);
template std::optional<FirstDifference> first_difference(BasicProgramExecution<double>&,
                                                         BasicProgramExecution<double>&, double);

}  // namespace lockstep
