#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "tools/python/session.hpp"

namespace lockstep::python {

/// Does work on a thread of its own and waits for it without the GIL; between, signals are handled
/// and `progress`, unless None, is called. What Python raises meanwhile leaves the thread to
/// itself. Raises exceptions of the work as those of Python.
[[nodiscard]] std::shared_ptr<Answer> do_aside(Session::Work work, const Documents& documents,
                                               const pybind11::object& progress);

}  // namespace lockstep::python
