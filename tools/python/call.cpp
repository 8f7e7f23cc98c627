#include "tools/python/call.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <utility>

#include "tools/lockstep/command_line.hpp"
#include "tools/python/aside.hpp"
#include "tools/python/brief_call.hpp"
#include "tools/python/errors.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

std::shared_ptr<Answer> call(std::vector<std::string> words, Documents documents,
                             const py::object& progress) {
  double& last = last_duration(words.front());
  auto answer = std::make_shared<Answer>();
  answer->words = std::move(words);
  answer->documents = std::move(documents);
  const bool brief = progress.is_none() && is_brief(last) &&
                     std::none_of(answer->words.begin(), answer->words.end(), writes_files);
  if (!brief || !call_briefly(answer)) {
    const auto run = [words = answer->words](Answer& out) {
      out.command_s = cli::run_command(words);
    };
    auto done = do_aside(run, answer->documents, progress);
    done->words = std::move(answer->words);
    done->documents = std::move(answer->documents);
    answer = std::move(done);
  }
  if (answer->command_s > 0) last = answer->command_s;
  return answer;
}

}  // namespace

double& last_duration(const std::string& command) {
  static std::map<std::string, double> all;
  return all[command];
}

bool call_briefly(const std::shared_ptr<Answer>& answer) {
  bool finished = false;
  std::exception_ptr error;
  // What gil_scoped_release does beyond this is for threads that have no state of Python yet.
  PyThreadState* const thread = PyEval_SaveThread();
  try {
    finished = finish_briefly(*answer);
  } catch (...) {
    error = std::current_exception();
  }
  PyEval_RestoreThread(thread);
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (error) raise_as_python(error, py::cast(answer));
  return finished;
}

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
