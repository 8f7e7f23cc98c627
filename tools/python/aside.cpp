#include "tools/python/aside.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "tools/python/errors.hpp"

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

}  // namespace

std::shared_ptr<Answer> do_aside(Session::Work work, const Documents& documents,
                                 const py::object& progress) {
  const auto session = std::make_shared<Session>(std::move(work), documents, !progress.is_none());
  session->start();
  wait_for(*session, progress);
  auto answer = std::make_shared<Answer>(std::move(session->answer()));
  if (const std::exception_ptr error = session->error()) raise_as_python(error, py::cast(answer));
  return answer;
}

}  // namespace lockstep::python
