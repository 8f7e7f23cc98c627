#pragma once

#include <pybind11/pybind11.h>

namespace lockstep::python {

/// `_native.write_msccl()`: steps that a Python function has yielded as MSCCL XML.
void add_own_schedule(pybind11::module_& module);

}  // namespace lockstep::python
