#pragma once

#include <pybind11/pybind11.h>

namespace lockstep::python {

/// `_native.Answer`: what a command printed and found; `_native.Table`: its rows as columns.
void add_answer(pybind11::module_& module);

}  // namespace lockstep::python
