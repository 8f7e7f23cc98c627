#include "tools/python/facts.hpp"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

#include "sim/base/units.hpp"
#include "tools/app/fingerprint.hpp"
#include "tools/app/inputs/config_folder.hpp"
#include "tools/lockstep/command_line.hpp"
#include "tools/lockstep/output/version.hpp"

namespace py = pybind11;

namespace lockstep::python {

namespace {

/// Dimension and value in its base unit: B, s, B/s, FLOP/s. None for any other text.
std::optional<std::pair<const char*, py::object>> parse_quantity(const std::string& text) {
  using Found = std::pair<const char*, py::object>;
  if (const auto bytes = parse_bytes(text)) return Found{"bytes", py::int_(bytes->count())};
  if (const auto time = parse_duration(text)) return Found{"time", py::float_(time->seconds())};
  if (const auto rate = parse_rate(text))
    return Found{"rate", py::float_(rate->bytes_per_second())};
  if (const auto rate = parse_flop_rate(text))
    return Found{"flop_rate", py::float_(rate->per_second())};
  return std::nullopt;
}

/// 16 hexadecimal digits.
std::string hash_of(const std::string& text) {
  app::Fingerprint fingerprint;
  for (const char each : text) fingerprint.add(static_cast<unsigned char>(each));
  return fingerprint.text();
}

py::dict dict_of(const cli::OptionInfo& option) {
  py::dict out;
  out["positional"] = option.positional;
  out["names"] = option.names;
  out["help"] = option.help;
  out["type"] = option.type;
  out["default"] = option.default_text;
  out["group"] = option.group;
  out["values"] = option.values;
  out["required"] = option.required;
  out["repeatable"] = option.repeatable;
  return out;
}

py::dict dict_of(const cli::CommandInfo& command) {
  py::dict out;
  out["name"] = command.name;
  out["summary"] = command.summary;
  py::list options;
  for (const cli::OptionInfo& each : command.options) options.append(dict_of(each));
  out["options"] = options;
  py::list commands;
  for (const cli::CommandInfo& each : command.commands) commands.append(dict_of(each));
  out["commands"] = commands;
  return out;
}

}  // namespace

void add_facts(py::module_& module) {
  module.attr("version") = cli::kVersion;
  module.def("parse_quantity", parse_quantity, py::arg("text"));
  module.def(
      "describe",
      [](const std::string& command) { return dict_of(cli::describe_command(command)); },
      py::arg("command"));
  module.def("hash_of", hash_of, py::arg("text"));
  module.def("config_folder", app::config_folder);
  module.def("use_config_folder", app::use_config_folder, py::arg("path"));
}

}  // namespace lockstep::python
