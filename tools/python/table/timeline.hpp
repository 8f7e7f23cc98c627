#pragma once

#include <pybind11/pybind11.h>

#include <memory>

namespace lockstep::app {
struct TrainingStepResult;
}

namespace lockstep::python {

/// `_native.Timeline`: operations and memory of a step as views of what the simulator recorded,
/// without copies.
void add_timeline(pybind11::module_& module);

/// None without a step.
[[nodiscard]] pybind11::object timeline_of(
    const std::shared_ptr<const app::TrainingStepResult>& step);

}  // namespace lockstep::python
