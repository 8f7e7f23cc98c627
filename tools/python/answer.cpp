#include "tools/python/answer.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/python/aside.hpp"
#include "tools/python/errors.hpp"
#include "tools/python/labels.hpp"
#include "tools/python/session.hpp"
#include "tools/python/table/arrow.hpp"
#include "tools/python/table/table.hpp"
#include "tools/python/table/timeline.hpp"
#include "tools/python/table/views.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

using TablePtr = std::shared_ptr<const Table>;

const Column& column_of(const Table& table, const std::string& name) {
  if (const Column* found = table.find(name)) return *found;
  throw py::key_error(name);
}

const char* name_of(ColumnType type) {
  switch (type) {
    case ColumnType::boolean:
      return "bool";
    case ColumnType::integer:
      return "int64";
    case ColumnType::real:
      return "float64";
    case ColumnType::text:
      break;
  }
  return "str";
}

py::dict types_of(const Table& table) {
  py::dict out;
  for (const Column& each : table.columns) out[py::str(each.name)] = name_of(each.type);
  return out;
}

std::string text_at(const Column& column, std::size_t row) {
  const auto first = static_cast<std::size_t>(column.offsets[row]);
  return column.texts.substr(first, static_cast<std::size_t>(column.offsets[row + 1]) - first);
}

py::object value_at(const Column& column, std::size_t row) {
  if (column.is_null(row)) return py::none();
  switch (column.type) {
    case ColumnType::boolean:
      return py::bool_(((column.bits[row / 8] >> (row % 8)) & 1U) != 0);
    case ColumnType::integer:
      return py::int_(column.integers[row]);
    case ColumnType::real:
      return py::float_(column.reals[row]);
    case ColumnType::text:
      break;
  }
  return py::str(text_at(column, row));
}

/// Python values; None where null.
py::list values_of(const Table& table, const std::string& name) {
  const Column& column = column_of(table, name);
  py::list out(table.rows);
  for (std::size_t row = 0; row < table.rows; ++row) out[row] = value_at(column, row);
  return out;
}

/// A view of numbers: NaN where a real is null. Errors: TypeError for other columns, ValueError for
/// integers with nulls.
py::array view_of(const TablePtr& table, const std::string& name) {
  const Column& column = column_of(*table, name);
  if (column.type == ColumnType::real)
    return view(column.reals.data(), {table->rows}, {sizeof(double)}, table);
  if (column.type != ColumnType::integer)
    throw py::type_error("column \"" + name + "\" is not of numbers; values() gives a list");
  if (column.nulls > 0)
    throw py::value_error("column \"" + name +
                          "\" has integers and nulls, which no view can show; values() gives a "
                          "list with None");
  return view(column.integers.data(), {table->rows}, {sizeof(std::int64_t)}, table);
}

void destroy_stream(PyObject* capsule) {
  auto* stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
  if (stream == nullptr) return;
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

py::object stream_of(const TablePtr& table) {
  auto stream = arrow_stream(table);
  PyObject* made = PyCapsule_New(stream.get(), "arrow_array_stream", destroy_stream);
  if (made == nullptr) throw py::error_already_set();
  (void)stream.release();
  return py::reinterpret_steal<py::object>(made);
}

cli::Cell cell_at(const Column& column, std::size_t row) {
  if (column.is_null(row)) return cli::Cell{};
  switch (column.type) {
    case ColumnType::boolean:
      return cli::Cell{((column.bits[row / 8] >> (row % 8)) & 1U) != 0};
    case ColumnType::integer:
      return cli::Cell{column.integers[row]};
    case ColumnType::real:
      return cli::Cell{column.reals[row]};
    case ColumnType::text:
      break;
  }
  return cli::Cell{text_at(column, row)};
}

/// The page of a command that has none of its own.
std::string plain_page(const Table& table) {
  cli::Report report;
  report.config = "{}";
  cli::Section section;
  for (const Column& each : table.columns)
    report.columns.push_back({each.name, each.name, "", each.type == ColumnType::text});
  for (std::size_t row = 0; row < table.rows; ++row) {
    auto& cells = section.rows.emplace_back();
    for (const Column& each : table.columns) cells.push_back(cell_at(each, row));
  }
  report.sections.push_back(std::move(section));
  return report_page(report, {});
}

/// What draws and writes may simulate, and takes its time.
std::string made_aside(std::function<std::string()> make, const Documents& documents) {
  return do_aside([make = std::move(make)](Answer& out) { out.text = make(); }, documents,
                  py::none())
      ->text;
}

/// The text of a command that takes longer is made where ctrl-C ends it.
constexpr double kShort = 1e-3;  // s

/// With the names of documents.
const std::string& source_of(Answer& answer) {
  if (!answer.rest) return answer.text;
  const auto make = answer.rest;
  std::string text;
  if (answer.command_s > kShort) {
    text = made_aside(make, answer.documents);
  } else {
    try {
      text = make();
    } catch (...) {
      raise_as_python(std::current_exception(), py::none());
    }
  }
  if (answer.rest) answer.text += text;  // no other thread was here meanwhile
  answer.rest = nullptr;
  return answer.text;
}

std::string text_of(Answer& answer) {
  return with_labels(source_of(answer), answer.documents, Spelling::json);
}

std::vector<std::string> notes_of(const Answer& answer) {
  std::vector<std::string> out;
  for (const std::string& each : answer.notes)
    out.push_back(with_labels(each, answer.documents, Spelling::plain));
  return out;
}

const cli::Findings& findings_of(Answer& answer) {
  if (answer.find) answer.findings = std::exchange(answer.find, nullptr)();
  return answer.findings;
}

std::string page_of(const std::shared_ptr<Answer>& answer) {
  std::function<std::string()> make = findings_of(*answer).page;
  if (!make) make = [text = text_of(*answer)] { return plain_page(table_of(text, "rows")); };
  return with_labels(made_aside(make, answer->documents), answer->documents, Spelling::html);
}

std::string figure_of(const std::shared_ptr<Answer>& answer, const std::string& kind,
                      const std::string& prefix, bool compact) {
  for (const std::string& each : findings_of(*answer).figures)
    if (each == kind) {
      const auto make = [=] {
        return answer->findings.figure(kind, {.prefix = prefix, .compact = compact});
      };
      return with_labels(made_aside(make, answer->documents), answer->documents, Spelling::html);
    }
  throw py::key_error(kind);
}

}  // namespace

void add_answer(py::module_& module) {
  py::class_<Table, std::shared_ptr<Table>>(module, "Table")
      .def_property_readonly("rows", [](const Table& of) { return of.rows; })
      .def_property_readonly("types", types_of)
      .def("values", values_of, py::arg("name"))
      .def(
          "view",
          [](const std::shared_ptr<Table>& of, const std::string& name) {
            return view_of(of, name);
          },
          py::arg("name"))
      .def(
          "__arrow_c_stream__",
          [](const std::shared_ptr<Table>& of, const py::object&) { return stream_of(of); },
          py::arg("requested_schema") = py::none());
  py::class_<Answer, std::shared_ptr<Answer>>(module, "Answer")
      .def_property_readonly("text", text_of)
      .def_property_readonly("source", source_of)
      .def_property_readonly("is_json",
                             [](const Answer& of) { return of.rest || of.text.starts_with('{'); })
      .def_readonly("words", &Answer::words)
      .def_readonly("documents", &Answer::documents)
      .def_property_readonly("notes", notes_of)
      .def_readonly("work_s", &Answer::work_s)
      .def_readonly("command_s", &Answer::command_s)
      .def_property_readonly("tables", [](Answer& of) { return tables_of(text_of(of)); })
      .def(
          "table",
          [](Answer& of, const std::string& key) {
            return std::make_shared<Table>(table_of(text_of(of), key));
          },
          py::arg("key"))
      .def_property_readonly("figures", [](Answer& of) { return findings_of(of).figures; })
      .def("figure", figure_of, py::arg("kind"), py::arg("prefix"), py::arg("compact"))
      .def("page", page_of)
      .def_property_readonly("timeline",
                             [](Answer& of) { return timeline_of(findings_of(of).step); });
}

}  // namespace lockstep::python
