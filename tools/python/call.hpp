#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "tools/python/session.hpp"

namespace lockstep::python {

/// How long a command, by its first word, took last; 0: not known. Needs the GIL.
[[nodiscard]] double& last_duration(const std::string& command);

/// Executes the command of `answer` in this thread. False: it takes longer than expected. Throws
/// pybind11::error_already_set.
[[nodiscard]] bool call_briefly(const std::shared_ptr<Answer>& answer);

/// `_native.call()`: executes a command without the GIL.
void add_call(pybind11::module_& module);

}  // namespace lockstep::python
