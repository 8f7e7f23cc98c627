#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/description.hpp"
#include "sim/config/json/config_error.hpp"
#include "sim/config/json/json.hpp"
#include "sim/config/json/pointer.hpp"

/// Strict reading: exact types, units required, unknown keys refused. A verb that finds a problem
/// reports it and returns a valid value (the smallest allowed), so that all problems of a file are
/// reported together:
///
///   Cable cable = read_config(path, [](ObjectReader& in) {
///     return Cable{in.rate("bandwidth"),                  // required
///                  in.duration("latency", 500_ns),        // with a default
///                  in.optional_bytes({"buffer", "Size of its buffer"})};  // std::optional
///   });
///
/// The same function describes the file: schema_of() runs it without a document, with every key
/// present and every branch on a `kind` taken, and returns its JSON Schema.
namespace lockstep {

class ObjectReader;

/// Off where nobody asks for schemas and code must be small: the page's engine.
#ifdef LOCKSTEP_WITHOUT_SCHEMAS
inline constexpr bool kDescribes = false;
#else
inline constexpr bool kDescribes = true;
#endif

/// A key, and what it means for schemas, completion and docs/reference/keys.md.
struct Key {
  template <std::convertible_to<std::string_view> Name>
  constexpr Key(const Name& of) : name{of} {}  // NOLINT(google-explicit-constructor)
  constexpr Key(std::string_view of, std::string_view meaning) : name{of}, help{meaning} {}

  std::string_view name;
  std::string_view help{};
};

/// One value of a document with its position. A reader of a missing required value, which has been
/// reported, is silent: every verb returns its smallest allowed value. So is one that describes.
class ValueReader {
 public:
  /// `value` nullptr: missing, or described. The value, `problems` and the description must outlive
  /// the reader.
  ValueReader(const JsonValue* value, std::string pointer, Problems& problems,
              ValueDescription* description = nullptr)
      : value_{value},
        pointer_{std::move(pointer)},
        problems_{&problems},
        description_{description} {}

  [[nodiscard]] Rate rate() const;             // above zero
  [[nodiscard]] Duration duration() const;     // zero or more
  [[nodiscard]] Bytes bytes() const;           // zero or more
  [[nodiscard]] Bytes positive_bytes() const;  // above zero
  [[nodiscard]] FlopRate flop_rate() const;    // above zero
  /// Written as an integer, within min..max.
  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const;
  /// Any number within min..max.
  [[nodiscard]] double number(double min, double max) const;
  [[nodiscard]] bool boolean() const;
  /// Not empty.
  [[nodiscard]] std::string string() const;
  /// One of `names`; `noun` is used in the error: no {noun} named "rng"; did you mean "ring"?
  [[nodiscard]] std::string one_of(std::string_view noun,
                                   const std::vector<std::string_view>& names) const;
  /// The same, but empty (instead of the first of `names`) if invalid.
  [[nodiscard]] std::optional<std::string> known_name(
      std::string_view noun, const std::vector<std::string_view>& names) const;

  /// Returns `read(ObjectReader&)`; then reports keys that it did not read. If this is no object,
  /// `read` is called with a silent reader.
  template <class Read>
  auto object(Read&& read) const;

  /// Calls `each(ValueReader)` for every element, in order. The number of elements must be within
  /// min_size..max_size; if there are more, none is read.
  template <class Each>
  void array(Each&& each, std::size_t min_size = 0, std::size_t max_size = SIZE_MAX) const {
    if (describes()) return describe_array(each, min_size, max_size);
    const JsonArray* elements = elements_of(min_size, max_size);
    if (elements == nullptr) return;
    for (std::size_t i = 0; i < elements->size(); ++i) {
      each(ValueReader{&(*elements)[i], child_pointer(pointer_, i), *problems_});
    }
  }

  /// Reports a problem at this value; no effect if the value is missing.
  void note(std::string message) const;
  /// Reports `expected {expected}, got ...` with the value.
  void refuse(std::string_view expected) const;

  /// Whether there is no document: the reader describes what it would read. `value()` is nullptr.
  [[nodiscard]] bool describes() const { return kDescribes && description_ != nullptr; }
  /// Describes one more type that the value may have, or a keyword of the type described last.
  void allow(JsonValue schema) const;
  void refine(std::string_view keyword, std::string_view json) const;
  /// Describes null as one more value.
  void allow_null() const;

  [[nodiscard]] bool is_object() const { return has<JsonObject>(); }
  [[nodiscard]] bool is_array() const { return has<JsonArray>(); }
  [[nodiscard]] bool is_string() const { return has<std::string>(); }
  /// nullptr if missing.
  [[nodiscard]] const JsonValue* value() const { return value_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] Problems& problems() const { return *problems_; }

 private:
  template <class T>
  [[nodiscard]] bool has() const {
    return value_ != nullptr && value_->get_if<T>() != nullptr;
  }
  template <class T>
  [[nodiscard]] const T* expect(std::string_view what) const;
  [[nodiscard]] const JsonObject* members() const;
  [[nodiscard]] const JsonArray* elements_of(std::size_t min_size, std::size_t max_size) const;

  template <class Each>
  void describe_array(Each&& each, std::size_t min_size, std::size_t max_size) const {
    ValueDescription items;
    each(ValueReader{nullptr, pointer_, *problems_, &items});
    add_array(items, min_size, max_size);
  }
  void add_array(const ValueDescription& items, std::size_t min_size, std::size_t max_size) const;

  template <class Read>
  auto describe_object(Read&& read) const;

  const JsonValue* value_;
  std::string pointer_;
  Problems* problems_;
  ValueDescription* description_;
};

/// The members of one object by key. Each verb has three forms: `rate(key)` requires the key,
/// `rate(key, fallback)` has a default, `optional_rate(key)` returns empty if it is absent. null is
/// a value of the wrong type, not absence.
class ObjectReader {
 public:
  ObjectReader(const JsonObject* members, ValueReader self,
               ObjectDescription* description = nullptr)
      : members_{members}, self_{std::move(self)}, description_{description} {}

  /// The value of a required key; if absent, reports it at the object and returns a silent reader.
  [[nodiscard]] ValueReader required(const Key& key);
  /// The value of an optional key.
  [[nodiscard]] std::optional<ValueReader> optional(const Key& key);
  /// Allows a key without reading it.
  void ignore(const Key& key) { (void)optional(key); }

  Rate rate(const Key& key) { return required(key).rate(); }
  Rate rate(const Key& key, Rate fallback) { return optional_rate(key).value_or(fallback); }
  std::optional<Rate> optional_rate(const Key& key);

  Duration duration(const Key& key) { return required(key).duration(); }
  Duration duration(const Key& key, Duration fallback) {
    return optional_duration(key).value_or(fallback);
  }
  std::optional<Duration> optional_duration(const Key& key);

  Bytes bytes(const Key& key) { return required(key).bytes(); }
  Bytes bytes(const Key& key, Bytes fallback) { return optional_bytes(key).value_or(fallback); }
  std::optional<Bytes> optional_bytes(const Key& key);
  Bytes positive_bytes(const Key& key) { return required(key).positive_bytes(); }

  FlopRate flop_rate(const Key& key) { return required(key).flop_rate(); }
  FlopRate flop_rate(const Key& key, FlopRate fallback) {
    return optional_flop_rate(key).value_or(fallback);
  }
  std::optional<FlopRate> optional_flop_rate(const Key& key);

  std::int64_t integer(const Key& key, std::int64_t min, std::int64_t max) {
    return required(key).integer(min, max);
  }
  std::int64_t integer(const Key& key, std::int64_t min, std::int64_t max, std::int64_t fallback) {
    return optional_integer(key, min, max).value_or(fallback);
  }
  std::optional<std::int64_t> optional_integer(const Key& key, std::int64_t min, std::int64_t max);

  double number(const Key& key, double min, double max) { return required(key).number(min, max); }
  double number(const Key& key, double min, double max, double fallback) {
    return optional_number(key, min, max).value_or(fallback);
  }
  std::optional<double> optional_number(const Key& key, double min, double max);

  bool boolean(const Key& key) { return required(key).boolean(); }
  bool boolean(const Key& key, bool fallback) { return optional_boolean(key).value_or(fallback); }
  std::optional<bool> optional_boolean(const Key& key);

  std::string string(const Key& key) { return required(key).string(); }
  std::string string(const Key& key, std::string_view fallback) {
    return optional_string(key).value_or(std::string{fallback});
  }
  std::optional<std::string> optional_string(const Key& key);

  std::string one_of(const Key& key, std::string_view noun,
                     const std::vector<std::string_view>& names) {
    return required(key).one_of(noun, names);
  }
  std::string one_of(const Key& key, std::string_view noun,
                     const std::vector<std::string_view>& names, std::string_view fallback) {
    return optional_one_of(key, noun, names).value_or(std::string{fallback});
  }
  std::optional<std::string> optional_one_of(const Key& key, std::string_view noun,
                                             const std::vector<std::string_view>& names);

  /// A name that determines which other keys are allowed, required without a `fallback`. Empty if
  /// missing or invalid; other keys are then not checked.
  [[nodiscard]] std::optional<std::string> kind(const Key& key, std::string_view noun,
                                                const std::vector<std::string_view>& names,
                                                std::string_view fallback = {});

  /// An optional key whose presence changes what the others are.
  [[nodiscard]] std::optional<ValueReader> decisive(const Key& key);

  template <class Read>
  auto object(const Key& key, Read&& read) {
    return required(key).object(std::forward<Read>(read));
  }
  /// std::optional of the result of `read`, which must not be void; `read` is not called if the key
  /// is absent.
  template <class Read>
  auto optional_object(const Key& key, Read&& read) {
    using Result = decltype(required(key).object(std::forward<Read>(read)));
    const auto found = optional(key);
    return found ? std::optional<Result>{found->object(std::forward<Read>(read))} : std::nullopt;
  }

  template <class Each>
  void array(const Key& key, Each&& each, std::size_t min_size = 0,
             std::size_t max_size = SIZE_MAX) {
    required(key).array(std::forward<Each>(each), min_size, max_size);
  }
  /// An absent array is empty.
  template <class Each>
  void optional_array(const Key& key, Each&& each, std::size_t min_size = 0,
                      std::size_t max_size = SIZE_MAX) {
    if (const auto found = optional(key)) {
      found->array(std::forward<Each>(each), min_size, max_size);
    }
  }

  /// Reports a problem at the value of `key`, or at the object if it is absent.
  void note(std::string_view key, std::string message);
  /// Reports a problem at the object.
  void note(std::string message) {
    if (members_ != nullptr) self_.note(std::move(message));
  }

  /// Describes a keyword of the whole object, such as "minProperties": refine("minProperties",
  /// "1").
  void refine(std::string_view keyword, std::string_view json);
  /// Describes a key as required whose absence its reader reports in words of its own.
  void describe_required(const Key& key) {
    if (describes()) (void)required(key);
  }
  [[nodiscard]] bool describes() const { return kDescribes && description_ != nullptr; }
  /// Which of several forms of the object to describe, in turn; 0 if there is a document.
  [[nodiscard]] std::size_t form(std::size_t count) {
    return describes() ? description_->choose(count) : 0;
  }

  /// All members in order, for objects with user-defined keys; allows every key. One if described.
  [[nodiscard]] std::vector<std::pair<std::string, ValueReader>> all();

  /// The object as a value.
  [[nodiscard]] const ValueReader& self() const { return self_; }
  /// Reports every key that was not read; called by ValueReader::object.
  void refuse_unknown_keys() const;

 private:
  [[nodiscard]] const JsonValue* find(std::string_view key);
  [[nodiscard]] ValueReader described(const Key& key, bool required);

  const JsonObject* members_;  // nullptr: silent
  ValueReader self_;
  ObjectDescription* description_;
  std::vector<std::string> asked_;
  bool every_key_allowed_ = false;
};

template <class Read>
auto ValueReader::describe_object(Read&& read) const {
  std::vector<ObjectDescription> runs{ObjectDescription{0}};
  const auto run = [&] {
    ObjectReader reader{nullptr, *this, &runs.back()};
    return read(reader);
  };
  for (;; runs.emplace_back(runs.size())) {
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      if (!runs.back().has_more()) return ObjectDescription::add_all(runs, *description_);
    } else {
      auto result = run();
      if (runs.back().has_more()) continue;
      ObjectDescription::add_all(runs, *description_);
      return result;
    }
  }
}

template <class Read>
auto ValueReader::object(Read&& read) const {
  if (describes()) return describe_object(read);
  ObjectReader reader{members(), *this};
  if constexpr (std::is_void_v<decltype(read(reader))>) {
    std::forward<Read>(read)(reader);
    reader.refuse_unknown_keys();
  } else {
    auto result = std::forward<Read>(read)(reader);
    reader.refuse_unknown_keys();
    return result;
  }
}

/// Returns `read(ObjectReader&)` of the document's top-level object, where the key "$schema" is
/// allowed. Throws ConfigError with every reported problem.
template <class Read>
auto read_document(const JsonDocument& document, Read&& read) {
  Problems problems{document.file};
  auto result = ValueReader{&document.root, "", problems}.object([&read](ObjectReader& in) {
    (void)in.optional_string("$schema");
    return read(in);
  });
  problems.throw_if_any();
  return result;
}

/// JSON Schema of the files whose root `read(const ValueReader&)` reads.
template <class Read>
JsonValue schema_of_root(std::string_view title, std::string_view description, Read&& read) {
  Problems none{""};
  ValueDescription root;
  (void)read(ValueReader{nullptr, "", none, &root});
  return document_schema(title, description, root.schema());
}

/// JSON Schema of the files that read_document() reads with `read(ObjectReader&)`.
template <class Read>
JsonValue schema_of(std::string_view title, std::string_view description, Read&& read) {
  return schema_of_root(title, description, [&read](const ValueReader& root) {
    root.object([&read](ObjectReader& in) {
      (void)in.optional_string("$schema");
      (void)read(in);
    });
    return true;
  });
}

/// The same from a file.
template <class Read>
auto read_config(const std::filesystem::path& path, Read&& read) {
  return read_document(read_json(path), std::forward<Read>(read));
}

}  // namespace lockstep
