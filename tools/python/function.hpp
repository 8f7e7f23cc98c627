#pragma once

#include <pybind11/pybind11.h>

namespace lockstep::python {

/// `_native.Function`: a function that executes a command, such as `lockstep.collective`.
void add_function(pybind11::module_& module);

}  // namespace lockstep::python
