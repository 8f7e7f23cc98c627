#include "tools/python/result.hpp"

#include <pybind11/stl.h>

#include <new>
#include <utility>

namespace py = pybind11;

namespace lockstep::python {

namespace {

struct Kept {
  PyObject_HEAD std::shared_ptr<Answer> answer;  // null: the result came out of a pickle
  PyObject* kept;                                // dict; null: empty
};

Kept& of(PyObject* self) {
  return *reinterpret_cast<Kept*>(self);
}

PyObject* make_empty(PyTypeObject* type, PyObject*, PyObject*) {
  return make_result(type, nullptr);
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  of(self).answer.~shared_ptr();
  Py_XDECREF(of(self).kept);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* answered(PyObject* self, void*) {
  try {
    return py::cast(of(self).answer).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

int set_answered(PyObject* self, PyObject* value, void*) {
  try {
    of(self).answer = py::handle(value).cast<std::shared_ptr<Answer>>();
    return 0;
  } catch (const py::cast_error&) {
    PyErr_SetString(PyExc_TypeError, "expected an Answer");
    return -1;
  }
}

PyObject* kept(PyObject* self, void*) {
  PyObject*& dict = of(self).kept;
  if (dict == nullptr) dict = PyDict_New();
  Py_XINCREF(dict);
  return dict;
}

}  // namespace

PyObject* make_result(PyTypeObject* type, std::shared_ptr<Answer> answer) {
  PyObject* const self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  new (&of(self).answer) std::shared_ptr<Answer>(std::move(answer));
  of(self).kept = nullptr;
  return self;
}

void add_result(py::module_& module) {
  static PyGetSetDef members[] = {{"_answered", answered, set_answered,
                                   "What the command found; None after a pickle.", nullptr},
                                  {"_kept", kept, nullptr, "What was made of it.", nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make_empty)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                {Py_tp_getset, members},
                                {0, nullptr}};
  static PyType_Spec spec{"lockstep._native.Kept", sizeof(Kept), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const auto type = py::reinterpret_steal<py::object>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  module.add_object("Kept", type);
}

}  // namespace lockstep::python
