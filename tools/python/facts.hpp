#pragma once

#include <pybind11/pybind11.h>

namespace lockstep::python {

/// What needs no simulation: quantities, the options of commands, the folder of the configs.
void add_facts(pybind11::module_& module);

}  // namespace lockstep::python
