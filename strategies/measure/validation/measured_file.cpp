#include "strategies/measure/validation/measured_file.hpp"

#include <iterator>
#include <map>

#include "strategies/measure/validation/measured_readers.hpp"

namespace lockstep {

namespace {

bool has_key(const JsonObject& object, std::string_view key) {
  return find_member(object, key) != nullptr;
}

/// Nothing where the element is of no form, which is noted.
std::optional<Measured> read_element(const ValueReader& at) {
  if (at.describes()) {
    (void)at.object(read_measured_run);
    (void)at.object(read_collective_table);
    (void)at.object(read_device_table);
    return std::nullopt;
  }
  const JsonObject* object = at.value() == nullptr ? nullptr : at.value()->get_if<JsonObject>();
  if (object == nullptr) {
    at.refuse("an object: a training run, a table of a collective or a table of a device");
    return std::nullopt;
  }
  if (has_key(*object, "collective")) return at.object(read_collective_table);
  if (has_key(*object, "kind")) return at.object(read_device_table);
  if (has_key(*object, "measured") || has_key(*object, "model") || has_key(*object, "parallel"))
    return at.object(read_measured_run);
  at.note(
      "expected a training run (with \"model\", \"parallel\" and \"measured\"), a table of a "
      "collective (with \"collective\") or a table of a device (with \"kind\")");
  return std::nullopt;
}

/// Ids are what results are found by.
void note_twins(const ValueReader& at, const MeasuredOrigin& origin,
                std::map<std::string, Position>& seen) {
  const auto [before, first] = seen.emplace(origin.id, origin.at);
  if (first || origin.id.empty()) return;
  at.note("the id " + in_quotes(origin.id) + " is there already, in line " +
          std::to_string(before->second.line));
}

MeasuredOrigin& origin_in(Measured& measured) {
  return std::visit([](auto& each) -> MeasuredOrigin& { return each.origin; }, measured);
}

}  // namespace

std::vector<Measured> read_measured(const JsonDocument& document) {
  Problems problems{document.file};
  std::vector<Measured> out;
  std::map<std::string, Position> seen;
  const ValueReader root{&document.root, "", problems};
  if (!root.is_array()) root.refuse("an array of measured results");
  if (root.is_array()) {
    root.array([&](const ValueReader& element) {
      auto measured = read_element(element);
      if (!measured) return;
      MeasuredOrigin& origin = origin_in(*measured);
      origin.file = document.file;
      origin.at = element.value()->at;
      note_twins(element, origin, seen);
      out.push_back(*std::move(measured));
    });
  }
  problems.throw_if_any();
  return out;
}

JsonValue measured_schema() {
  return schema_of_root("measured results",
                        "Measured results in SI units: training runs, collectives and kernels. "
                        "Omitted fields are unknown.",
                        [](const ValueReader& root) {
                          root.array([](const ValueReader& each) { (void)read_element(each); });
                          return true;
                        });
}

std::vector<Measured> load_measured(const std::filesystem::path& path) {
  return read_measured(read_json(path));
}

std::vector<Measured> load_measured(const std::vector<std::filesystem::path>& paths) {
  Problems problems{""};
  std::vector<Measured> out;
  for (const std::filesystem::path& path : paths) {
    try {
      auto more = load_measured(path);
      std::move(more.begin(), more.end(), std::back_inserter(out));
    } catch (const ConfigError& error) {
      problems.add(error);
    }
  }
  problems.throw_if_any();
  return out;
}

}  // namespace lockstep
