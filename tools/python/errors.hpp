#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace lockstep::python {

/// Raises an exception of a command as one of lockstep/_errors.py, with its answer unless that is
/// None. Needs the GIL. Throws error_already_set.
[[noreturn]] void raise_as_python(const std::exception_ptr& error, const pybind11::object& answer);

}  // namespace lockstep::python
