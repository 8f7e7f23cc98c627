// `lockstep._native`: what the Python package `lockstep` is written on.
#include <pybind11/pybind11.h>

#include "tools/python/answer.hpp"
#include "tools/python/call.hpp"
#include "tools/python/facts.hpp"
#include "tools/python/function.hpp"
#include "tools/python/own_schedule.hpp"
#include "tools/python/result.hpp"
#include "tools/python/table/timeline.hpp"

PYBIND11_MODULE(_native, module) {
  module.doc() = "Commands of Lockstep within this process; the package lockstep is its interface.";
  lockstep::python::add_timeline(module);
  lockstep::python::add_answer(module);
  lockstep::python::add_call(module);
  lockstep::python::add_result(module);
  lockstep::python::add_function(module);
  lockstep::python::add_facts(module);
  lockstep::python::add_own_schedule(module);
}
