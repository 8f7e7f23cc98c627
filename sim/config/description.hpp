#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/json.hpp"

/// What a reader reads, as JSON Schema. A reader that runs with a description instead of a document
/// notes the type and range of every value that it asks for; schema_of() in reader.hpp runs one.
namespace lockstep {

/// One value. Types that differ are alternatives.
class ValueDescription {
 public:
  void add(JsonValue schema);
  /// Sets a keyword of the type added last.
  void refine(std::string_view keyword, JsonValue value);
  /// One more of the names added last.
  void add_null();
  [[nodiscard]] JsonValue schema() const;

 private:
  std::vector<JsonValue> alternatives_{};
};

/// The keys of an object.
class ObjectDescription {
 public:
  /// `kind`: number of the run of the object's reader, which runs once per kind of object.
  explicit ObjectDescription(std::size_t kind) : kind_{kind} {}

  ValueDescription& property(std::string_view key, std::string_view help, bool required);
  /// Values under keys of the user's choice.
  ValueDescription& others();
  void refine(std::string_view keyword, JsonValue value);

  /// The kind, below `count`, that this run describes.
  [[nodiscard]] std::size_t choose(std::size_t count);
  /// The same by name, under a key that is required but for `fallback`.
  [[nodiscard]] std::string choose_kind(std::string_view key, std::string_view help,
                                        const std::vector<std::string_view>& names,
                                        std::string_view fallback);
  /// Whether the reader has to run again for another kind.
  [[nodiscard]] bool has_more() const { return kind_ + 1 < kinds_; }

  /// Adds the schemas of all runs; kinds with equal keys share one.
  static void add_all(const std::vector<ObjectDescription>& runs, ValueDescription& to);

 private:
  struct Property {
    std::string key;
    std::string help;
    bool required = false;
    ValueDescription value{};
  };

  [[nodiscard]] JsonValue schema(const std::vector<JsonValue>& kinds) const;

  std::size_t kind_;
  std::size_t kinds_ = 1;
  std::string kind_key_{};
  std::string kind_name_{};
  std::deque<Property> properties_{};  // addresses stay
  std::deque<ValueDescription> others_{};
  JsonObject keywords_{};
};

/// The schema of a file: that of its root, with definitions of quantities and of objects that occur
/// several times.
[[nodiscard]] JsonValue document_schema(std::string_view title, std::string_view description,
                                        const JsonValue& root);

}  // namespace lockstep
