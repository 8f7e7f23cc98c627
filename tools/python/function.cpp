#include "tools/python/function.hpp"

#include <pybind11/stl.h>
#include <structmember.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/python/brief_call.hpp"
#include "tools/python/call.hpp"
#include "tools/python/result.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

/// A keyword whose value is a word as it stands: a text, an integer or a truth value.
struct Keyword {
  std::string begin;     // "--nodes="; empty: a positional argument
  bool is_text = false;  // a text is one word
  bool is_integer = false;
  bool is_flag = false;
  std::size_t place = 0;  // of a positional argument
};

constexpr std::size_t kMostPositional = 4;
using Positional = std::array<PyObject*, kMostPositional>;

/// What a function needs.
struct Plan {
  std::vector<std::string> command;  // "verify", "collective"
  std::vector<PyObject*> names;      // of keywords, interned; positional ones first, in order
  std::vector<Keyword> keywords;
  std::size_t positional = 0;
  std::size_t required = 0;  // of the positional ones, the first
  double* last = nullptr;    // how long the command took
  PyTypeObject* result = nullptr;
  PyObject* any = nullptr;      // takes any call
  PyObject* explain = nullptr;  // has an error in the words of this function

  [[nodiscard]] std::size_t find(PyObject* name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    return static_cast<std::size_t>(found - names.begin());
  }
};

struct Function {
  PyObject_HEAD vectorcallfunc call;
  PyObject* dict;
  Plan* plan;
};

Function& of(PyObject* self) {
  return *reinterpret_cast<Function*>(self);
}

bool add_text(PyObject* value, std::string& to) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  to.append(text, static_cast<std::size_t>(size));
  return true;
}

bool add_integer(PyObject* value, std::string& to) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return false;
  to += std::to_string(number);
  return true;
}

/// The words of a plain call. None: it is not plain.
std::optional<std::vector<std::string>> words_of(const Plan& plan, PyObject* const* values,
                                                 std::size_t count, PyObject* names) {
  if (count > plan.positional) return std::nullopt;
  Positional positional{};
  std::copy_n(values, count, positional.begin());
  const auto named = names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names));
  std::vector<std::string> words;
  words.reserve(plan.command.size() + named + count + 2);
  words.insert(words.end(), plan.command.begin(), plan.command.end());
  for (std::size_t i = 0; i < named; ++i) {
    const std::size_t at = plan.find(PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(i)));
    if (at == plan.names.size()) return std::nullopt;
    PyObject* const value = values[count + i];
    const Keyword& keyword = plan.keywords[at];
    if (keyword.begin.empty()) {
      if (std::exchange(positional.at(keyword.place), value) != nullptr) return std::nullopt;
    } else if (value == Py_None || value == Py_False) {
      continue;
    } else if (keyword.is_flag) {
      if (value != Py_True) return std::nullopt;
      words.push_back(keyword.begin);
    } else {
      std::string& word = words.emplace_back(keyword.begin);
      const bool added =
          PyUnicode_CheckExact(value) != 0
              ? keyword.is_text && add_text(value, word)
              : PyLong_CheckExact(value) != 0 && keyword.is_integer && add_integer(value, word);
      if (!added) return std::nullopt;
    }
  }
  words.emplace_back("--format=json");
  bool any_positional = false;
  for (std::size_t i = 0; i < plan.positional; ++i) {
    PyObject* const value = positional.at(i);
    if (value == nullptr || value == Py_None) {
      if (i < plan.required) return std::nullopt;
      continue;
    }
    if (PyUnicode_CheckExact(value) == 0 || !plan.keywords[i].is_text) return std::nullopt;
    if (!std::exchange(any_positional, true)) words.emplace_back("--");
    if (!add_text(value, words.emplace_back())) return std::nullopt;
  }
  return words;
}

/// The error that is set, in the words of the function.
PyObject* raise_explained(const Plan& plan, const Answer& answer) {
  py::error_already_set error;
  try {
    py::handle(plan.explain)(error.value(), answer.words, answer.documents);
  } catch (py::error_already_set& another) {
    another.restore();
    return nullptr;
  }
  error.restore();
  return nullptr;
}

/// Null without a Python error: the call is not one of a brief command with plain values.
PyObject* call_plainly(const Plan& plan, PyObject* const* values, std::size_t count,
                       PyObject* names) {
  if (!is_brief(*plan.last)) return nullptr;
  auto words = words_of(plan, values, count, names);
  if (!words) return nullptr;
  auto answer = std::make_shared<Answer>();
  answer->words = std::move(*words);
  try {
    if (!call_briefly(answer)) return nullptr;
  } catch (py::error_already_set& error) {
    error.restore();
    return raise_explained(plan, *answer);
  }
  if (answer->command_s > 0) *plan.last = answer->command_s;
  return make_result(plan.result, std::move(answer));
}

PyObject* call(PyObject* self, PyObject* const* values, std::size_t flags, PyObject* names) {
  const Plan& plan = *of(self).plan;
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  PyObject* const result = call_plainly(plan, values, count, names);
  if (result != nullptr || PyErr_Occurred() != nullptr) return result;
  return PyObject_Vectorcall(plan.any, values, flags, names);
}

/// (keyword, option, kind) of `_call.Options`; `texts` and `integers`: the kinds of words.
void add_keywords(Plan& plan, const py::sequence& options, const py::set& texts,
                  const py::set& integers) {
  for (const bool positional : {true, false})
    for (const py::handle each : options) {
      const auto [name, all, kind] = each.cast<std::tuple<std::string, std::string, std::string>>();
      if (all.empty() != positional) continue;
      const std::string option = all.substr(0, all.find(','));
      if (!positional && (writes_files(option) || !option.starts_with("--"))) continue;
      Keyword keyword;
      keyword.is_flag = kind == "flag";
      keyword.is_text = texts.contains(kind);
      keyword.is_integer = integers.contains(kind);
      keyword.begin = positional || keyword.is_flag ? option : option + "=";
      if (positional) keyword.place = plan.positional++;
      PyObject* interned = PyUnicode_InternFromString(name.c_str());
      if (interned == nullptr) throw py::error_already_set();
      plan.names.push_back(interned);
      plan.keywords.push_back(std::move(keyword));
    }
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  try {
    const py::tuple given = py::reinterpret_borrow<py::tuple>(args);
    if (given.size() != 7)
      throw py::type_error("Function(command, options, texts, integers, required, any, explain)");
    auto plan = std::make_unique<Plan>();
    const py::tuple command = given[0];
    plan->command = py::object(command[0]).cast<std::vector<std::string>>();
    plan->result = reinterpret_cast<PyTypeObject*>(py::object(command[1]).release().ptr());
    add_keywords(*plan, given[1], given[2], given[3]);
    plan->required = given[4].cast<std::size_t>();
    if (plan->positional > kMostPositional) throw py::value_error("too many positional arguments");
    plan->last = &last_duration(plan->command.front());
    plan->any = py::object(given[5]).release().ptr();
    plan->explain = py::object(given[6]).release().ptr();
    PyObject* const self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    of(self).call = call;
    of(self).dict = nullptr;
    of(self).plan = plan.release();
    return self;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  }
  return nullptr;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  const std::unique_ptr<Plan> plan{of(self).plan};
  for (PyObject* each : plan->names) Py_DECREF(each);
  Py_DECREF(reinterpret_cast<PyObject*>(plan->result));
  Py_DECREF(plan->any);
  Py_DECREF(plan->explain);
  Py_XDECREF(of(self).dict);
  type->tp_free(self);
  Py_DECREF(type);
}

/// As a function: help() and inspect take it for one.
PyObject* get(PyObject* self, PyObject*, PyObject*) {
  Py_INCREF(self);
  return self;
}

PyObject* qualified_name(PyObject* self, PyObject* = nullptr) {
  return PyObject_GetAttrString(self, "__qualname__");
}

PyObject* repr(PyObject* self) {
  const auto name = py::reinterpret_steal<py::object>(qualified_name(self));
  return name ? PyUnicode_FromFormat("<function lockstep.%U>", name.ptr()) : nullptr;
}

}  // namespace

void add_function(py::module_& module) {
  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET, offsetof(Function, dict), READONLY, nullptr},
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef attributes[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {
      {"__reduce__", qualified_name, METH_NOARGS, "Found by its name in another process."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(get)},
                                {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                {Py_tp_members, members},
                                {Py_tp_getset, attributes},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec{"lockstep._native.Function", sizeof(Function), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  const auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  module.add_object("Function", type);
}

}  // namespace lockstep::python
