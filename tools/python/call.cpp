#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <memory>

#include "tools/python/answer.hpp"
#include "tools/python/brief_call.hpp"
#include "tools/python/errors.hpp"
#include "tools/python/session.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

/// Within a tenth of a second ctrl-C is answered; this leaves time for what Python does.
constexpr std::chrono::milliseconds kBetweenSignals{20};

void show(const py::object& progress, Session& session) {
  for (const ProgressEvent& event : session.drain()) progress(event);
}

/// Waits for the command. What Python raises meanwhile, in `progress` or for a signal, ends it.
void wait_for(Session& session, const py::object& progress) {
  for (;;) {
    bool ended = false;
    {
      const py::gil_scoped_release without;
      ended = session.wait(kBetweenSignals);
    }
    try {
      if (!progress.is_none()) show(progress, session);
      if (ended) return;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    } catch (...) {
      session.stop();
      throw;
    }
  }
}

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

/// On a thread of its own, which is left where it is by an exception of Python.
std::shared_ptr<Answer> call_aside(std::vector<std::string> words,
                                   const Session::Documents& documents,
                                   const py::object& progress) {
  auto session = std::make_shared<Session>(std::move(words), documents, !progress.is_none());
  session->start();
  wait_for(*session, progress);
  auto answer = std::make_shared<Answer>(std::move(session->answer()));
  if (const std::exception_ptr error = session->error()) raise_as_python(error, py::cast(answer));
  return answer;
}

std::shared_ptr<Answer> call(const std::vector<std::string>& words,
                             const Session::Documents& documents, const py::object& progress) {
  std::shared_ptr<Answer> answer;
  if (progress.is_none() && durations().is_brief(words)) answer = call_briefly(words, documents);
  if (!answer) answer = call_aside(words, documents, progress);
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
