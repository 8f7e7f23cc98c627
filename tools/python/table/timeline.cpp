#include "tools/python/table/timeline.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <memory>
#include <span>
#include <utility>

#include "tools/app/step/run_step.hpp"
#include "tools/python/table/views.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

using Step = std::shared_ptr<const app::TrainingStepResult>;

// Views read the structs of the simulator as they are.
static_assert(sizeof(TimePoint) == sizeof(std::int64_t) && sizeof(Bytes) == sizeof(std::int64_t));
static_assert(sizeof(CategoryBytes) == kCategories * sizeof(std::int64_t));

/// Operations of the simulated ranks.
class Timeline {
 public:
  explicit Timeline(Step step) : step_{std::move(step)} {}

  [[nodiscard]] std::vector<int> ranks() const {
    std::vector<int> out;
    for (const RankTimeline& rank : timeline().ranks) out.push_back(rank.rank);
    return out;
  }

  /// Where a simulated rank stands among them.
  [[nodiscard]] std::size_t index_of(int rank) const {
    const auto& ranks = timeline().ranks;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i].rank == rank) return i;
    if (rank >= 0 && static_cast<std::size_t>(rank) < timeline().representative_of.size())
      return timeline().representative_of[static_cast<std::size_t>(rank)];
    throw py::key_error("rank " + std::to_string(rank) + " was not simulated; see ranks");
  }

  [[nodiscard]] py::array starts(int rank) const {
    return of_operations<std::int64_t>(
        rank, [](const OperationTimes& of, std::size_t i) { return of.start_of(i).ps(); });
  }

  [[nodiscard]] py::array ends(int rank) const {
    const std::span<const TimePoint> of = times(rank).ends();
    return view(reinterpret_cast<const std::int64_t*>(of.data()), {of.size()}, {sizeof(TimePoint)},
                step_);
  }

  [[nodiscard]] py::array bound_by(int rank) const {
    return of_operations<std::uint32_t>(
        rank, [](const OperationTimes& of, std::size_t i) { return of.bound_by(i); });
  }

  [[nodiscard]] std::vector<std::string> names(int rank) const {
    const RoleProgram& role = program(rank);
    std::vector<std::string> out;
    for (std::uint32_t i = 0; i < role.operations.size(); ++i) out.push_back(role.name(i));
    return out;
  }

  [[nodiscard]] std::vector<std::string> kinds(int rank) const {
    std::vector<std::string> out;
    for (const RoleOperation& each : program(rank).operations)
      out.emplace_back(to_string(each.operation->kind));
    return out;
  }

  [[nodiscard]] std::vector<std::string> streams(int rank) const {
    const RoleProgram& role = program(rank);
    std::vector<std::string> out;
    for (const RoleOperation& each : role.operations)
      out.push_back(role.program->streams[each.operation->stream]);
    return out;
  }

  [[nodiscard]] std::int64_t end_ps() const { return timeline().end.ps(); }

  [[nodiscard]] py::array link_bytes() const {
    const std::vector<Bytes>& of = timeline().link_bytes;
    const auto* first = reinterpret_cast<const std::int64_t*>(of.data());
    return view(first, {of.size()}, {sizeof(std::int64_t)}, step_);
  }

  // The memory of the rank that needs most, over the step.

  [[nodiscard]] int memory_rank() const { return step_->memory.rank; }

  [[nodiscard]] py::array memory_times() const {
    const auto* first = reinterpret_cast<const char*>(curve().data()) + offsetof(MemoryPoint, at);
    return view(reinterpret_cast<const std::int64_t*>(first), {curve().size()},
                {sizeof(MemoryPoint)}, step_);
  }

  [[nodiscard]] py::array memory_bytes() const {
    const auto* first = reinterpret_cast<const char*>(curve().data()) + offsetof(MemoryPoint, held);
    return view(reinterpret_cast<const std::int64_t*>(first), {curve().size(), kCategories},
                {sizeof(MemoryPoint), sizeof(std::int64_t)}, step_);
  }

  [[nodiscard]] static std::vector<std::string> memory_categories() {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < kCategories; ++i)
      out.emplace_back(to_string(static_cast<Category>(i)));
    return out;
  }

 private:
  [[nodiscard]] const TrainingStepTimeline& timeline() const { return step_->step.timeline; }
  [[nodiscard]] const RoleProgram& program(int rank) const {
    return timeline().roles[timeline().ranks[index_of(rank)].role];
  }
  [[nodiscard]] const std::vector<MemoryPoint>& curve() const {
    return step_->memory.account.device.curve;
  }
  [[nodiscard]] const OperationTimes& times(int rank) const {
    return timeline().ranks[index_of(rank)].operations;
  }
  /// What follows from the ends, one number an operation.
  template <class Number, class Get>
  [[nodiscard]] py::array of_operations(int rank, const Get& get) const {
    const OperationTimes& of = times(rank);
    const auto numbers = std::make_shared<std::vector<Number>>(of.size());
    for (std::size_t i = 0; i < of.size(); ++i) (*numbers)[i] = get(of, i);
    return view<Number, std::vector<Number>>(numbers->data(), {of.size()}, {sizeof(Number)},
                                             numbers);
  }

  Step step_;
};

}  // namespace

py::object timeline_of(const std::shared_ptr<const app::TrainingStepResult>& step) {
  return step == nullptr ? py::object{py::none{}} : py::cast(Timeline{step});
}

void add_timeline(py::module_& module) {
  py::class_<Timeline>(module, "Timeline")
      .def_property_readonly("ranks", &Timeline::ranks)
      .def_property_readonly("end_ps", &Timeline::end_ps)
      .def("start_ps", &Timeline::starts, py::arg("rank"))
      .def("end_of_ps", &Timeline::ends, py::arg("rank"))
      .def("bound_by", &Timeline::bound_by, py::arg("rank"))
      .def("names", &Timeline::names, py::arg("rank"))
      .def("kinds", &Timeline::kinds, py::arg("rank"))
      .def("streams", &Timeline::streams, py::arg("rank"))
      .def_property_readonly("link_bytes", &Timeline::link_bytes)
      .def_property_readonly("memory_rank", &Timeline::memory_rank)
      .def_property_readonly("memory_at_ps", &Timeline::memory_times)
      .def_property_readonly("memory_bytes", &Timeline::memory_bytes)
      .def_property_readonly_static(
          "memory_categories", [](const py::object&) { return Timeline::memory_categories(); });
}

}  // namespace lockstep::python
