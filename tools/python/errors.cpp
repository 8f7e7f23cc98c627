#include "tools/python/errors.hpp"

#include <exception>
#include <new>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/config/json/config_error.hpp"
#include "tools/app/step/memory_changes.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

/// Exceptions of Python, in lockstep/_errors.py.
class Errors {
 public:
  explicit Errors(py::object answer)
      : classes_{py::module_::import("lockstep._errors")}, answer_{std::move(answer)} {}

  [[noreturn]] void raise_config(const ConfigError& error) const {
    py::list problems;
    for (const Problem& each : error.problems())
      problems.append(
          py::make_tuple(each.file, each.at.line, each.at.column, each.pointer, each.message));
    raise("ConfigError", problems, std::size_t{error.total()});
  }

  [[noreturn]] void raise_error(const Error& error) const {
    const char* name = "InternalError";
    if (dynamic_cast<const app::DoesNotFit*>(&error) != nullptr)
      name = "DoesNotFit";
    else if (error.code() == ErrorCode::invalid_input)
      name = "RequestError";
    else if (error.code() == ErrorCode::negative_result)
      name = "NegativeResult";
    else if (error.code() == ErrorCode::io)
      name = "OutputError";
    raise(name, cli::text_of(error), error.place(), error.hint());
  }

  [[noreturn]] void raise_bug(const std::exception& error) const {
    raise("InternalError", error.what(), "", "");
  }

 private:
  template <class... Arguments>
  [[noreturn]] void raise(const char* name, const Arguments&... arguments) const {
    const py::object type = classes_.attr(name);
    py::object error = type(arguments...);
    if (!answer_.is_none()) error.attr("_take_answer")(answer_);
    PyErr_SetObject(type.ptr(), error.ptr());
    throw py::error_already_set();
  }

  py::module_ classes_;
  py::object answer_;
};

}  // namespace

void raise_as_python(const std::exception_ptr& error, const py::object& answer) {
  const Errors errors{answer};
  try {
    std::rethrow_exception(error);
  } catch (const ConfigError& of) {
    errors.raise_config(of);
  } catch (const Error& of) {
    errors.raise_error(of);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    throw py::error_already_set();
  } catch (const std::exception& of) {
    errors.raise_bug(of);
  }
}

}  // namespace lockstep::python
