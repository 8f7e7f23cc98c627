#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "tools/python/session.hpp"

namespace lockstep::python {

/// `_native.Kept`, the base of `lockstep.results.Result`: an answer, and what was made of it.
void add_result(pybind11::module_& module);

/// An instance of `type`, which is derived from Kept. Null: a Python error.
[[nodiscard]] PyObject* make_result(PyTypeObject* type, std::shared_ptr<Answer> answer);

}  // namespace lockstep::python
