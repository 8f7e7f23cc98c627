#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <memory>

#include "tools/lockstep/command_line.hpp"
#include "tools/python/answer.hpp"
#include "tools/python/aside.hpp"
#include "tools/python/brief_call.hpp"
#include "tools/python/errors.hpp"
#include "tools/python/session.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

/// Of the thread that has the GIL.
Durations& durations() {
  static Durations all;
  return all;
}

/// In this thread. Null: it takes longer than expected.
std::shared_ptr<Answer> call_briefly(const std::vector<std::string>& words,
                                     const Session::Documents& documents) {
  auto answer = std::make_shared<Answer>();
  bool finished = false;
  std::exception_ptr error;
  {
    const py::gil_scoped_release without;
    try {
      finished = finish_briefly(words, documents, *answer);
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (error) raise_as_python(error, py::cast(answer));
  return finished ? answer : nullptr;
}

std::shared_ptr<Answer> call(const std::vector<std::string>& words,
                             const Session::Documents& documents, const py::object& progress) {
  std::shared_ptr<Answer> answer;
  if (progress.is_none() && durations().is_brief(words)) answer = call_briefly(words, documents);
  const auto run = [words](Answer& out) { out.work_s = cli::run_command(words); };
  if (!answer) answer = do_aside(run, documents, progress);
  durations().note(words, answer->work_s);
  return answer;
}

}  // namespace

void add_call(py::module_& module) {
  py::class_<ProgressEvent>(module, "Progress")
      .def_readonly("phase", &ProgressEvent::phase)
      .def_readonly("part", &ProgressEvent::part)
      .def_readonly("detail", &ProgressEvent::detail)
      .def_readonly("done", &ProgressEvent::done)
      .def_readonly("total", &ProgressEvent::total)
      .def_readonly("share", &ProgressEvent::share)
      .def("__repr__", [](const ProgressEvent& of) {
        return "<Progress " +
               (of.total > 0 ? std::to_string(of.done) + " of " + std::to_string(of.total)
                             : of.phase) +
               ">";
      });
  module.def("call", call, py::arg("words"), py::arg("documents"), py::arg("progress"));
  module.attr("writing_options") = writing_options();
  leave_running_commands_at_exit();
}

}  // namespace lockstep::python
