#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/config/config_error.hpp"
#include "sim/config/json.hpp"
#include "sim/config/pointer.hpp"

/// Strict reading: exact types, units required, unknown keys refused. A verb that finds a problem
/// reports it and returns a valid value (the smallest allowed), so that all problems of a file are
/// reported together:
///
///   Cable cable = read_config(path, [](ObjectReader& in) {
///     return Cable{in.rate("bandwidth"),                  // required
///                  in.duration("latency", 500_ns),        // with a default
///                  in.optional_bytes("buffer")};          // std::optional
///   });
namespace lockstep {

class ObjectReader;

/// One value of a document with its position. A reader of a missing required value, which has been
/// reported, is silent: every verb returns its smallest allowed value.
class ValueReader {
 public:
  /// `value` nullptr: missing. The value and `problems` must outlive the reader.
  ValueReader(const JsonValue* value, std::string pointer, Problems& problems)
      : value_{value}, pointer_{std::move(pointer)}, problems_{&problems} {}

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

  const JsonValue* value_;
  std::string pointer_;
  Problems* problems_;
};

/// The members of one object by key. Each verb has three forms: `rate(key)` requires the key,
/// `rate(key, fallback)` has a default, `optional_rate(key)` returns empty if it is absent. null is
/// a value of the wrong type, not absence.
class ObjectReader {
 public:
  ObjectReader(const JsonObject* members, ValueReader self)
      : members_{members}, self_{std::move(self)} {}

  /// The value of a required key; if absent, reports it at the object and returns a silent reader.
  [[nodiscard]] ValueReader required(std::string_view key);
  /// The value of an optional key.
  [[nodiscard]] std::optional<ValueReader> optional(std::string_view key);
  /// Allows a key without reading it.
  void ignore(std::string_view key) { (void)optional(key); }

  Rate rate(std::string_view key) { return required(key).rate(); }
  Rate rate(std::string_view key, Rate fallback) { return optional_rate(key).value_or(fallback); }
  std::optional<Rate> optional_rate(std::string_view key);

  Duration duration(std::string_view key) { return required(key).duration(); }
  Duration duration(std::string_view key, Duration fallback) {
    return optional_duration(key).value_or(fallback);
  }
  std::optional<Duration> optional_duration(std::string_view key);

  Bytes bytes(std::string_view key) { return required(key).bytes(); }
  Bytes bytes(std::string_view key, Bytes fallback) {
    return optional_bytes(key).value_or(fallback);
  }
  std::optional<Bytes> optional_bytes(std::string_view key);
  Bytes positive_bytes(std::string_view key) { return required(key).positive_bytes(); }

  FlopRate flop_rate(std::string_view key) { return required(key).flop_rate(); }
  FlopRate flop_rate(std::string_view key, FlopRate fallback) {
    return optional_flop_rate(key).value_or(fallback);
  }
  std::optional<FlopRate> optional_flop_rate(std::string_view key);

  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max) {
    return required(key).integer(min, max);
  }
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max,
                       std::int64_t fallback) {
    return optional_integer(key, min, max).value_or(fallback);
  }
  std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t min,
                                               std::int64_t max);

  double number(std::string_view key, double min, double max) {
    return required(key).number(min, max);
  }
  double number(std::string_view key, double min, double max, double fallback) {
    return optional_number(key, min, max).value_or(fallback);
  }
  std::optional<double> optional_number(std::string_view key, double min, double max);

  bool boolean(std::string_view key) { return required(key).boolean(); }
  bool boolean(std::string_view key, bool fallback) {
    return optional_boolean(key).value_or(fallback);
  }
  std::optional<bool> optional_boolean(std::string_view key);

  std::string string(std::string_view key) { return required(key).string(); }
  std::string string(std::string_view key, std::string_view fallback) {
    return optional_string(key).value_or(std::string{fallback});
  }
  std::optional<std::string> optional_string(std::string_view key);

  std::string one_of(std::string_view key, std::string_view noun,
                     const std::vector<std::string_view>& names) {
    return required(key).one_of(noun, names);
  }
  std::string one_of(std::string_view key, std::string_view noun,
                     const std::vector<std::string_view>& names, std::string_view fallback) {
    return optional_one_of(key, noun, names).value_or(std::string{fallback});
  }
  std::optional<std::string> optional_one_of(std::string_view key, std::string_view noun,
                                             const std::vector<std::string_view>& names);

  /// A required name that determines which other keys are allowed. Empty if missing or invalid;
  /// other keys are then not checked.
  [[nodiscard]] std::optional<std::string> kind(std::string_view key, std::string_view noun,
                                                const std::vector<std::string_view>& names);

  template <class Read>
  auto object(std::string_view key, Read&& read) {
    return required(key).object(std::forward<Read>(read));
  }
  /// std::optional of the result of `read`, which must not be void; `read` is not called if the key
  /// is absent.
  template <class Read>
  auto optional_object(std::string_view key, Read&& read) {
    using Result = decltype(required(key).object(std::forward<Read>(read)));
    const auto found = optional(key);
    return found ? std::optional<Result>{found->object(std::forward<Read>(read))} : std::nullopt;
  }

  template <class Each>
  void array(std::string_view key, Each&& each, std::size_t min_size = 0,
             std::size_t max_size = SIZE_MAX) {
    required(key).array(std::forward<Each>(each), min_size, max_size);
  }
  /// An absent array is empty.
  template <class Each>
  void optional_array(std::string_view key, Each&& each, std::size_t min_size = 0,
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

  /// All members in order, for objects with user-defined keys; allows every key.
  [[nodiscard]] std::vector<std::pair<std::string, ValueReader>> all();

  /// The object as a value.
  [[nodiscard]] const ValueReader& self() const { return self_; }
  /// Reports every key that was not read; called by ValueReader::object.
  void refuse_unknown_keys() const;

 private:
  [[nodiscard]] const JsonValue* find(std::string_view key);

  const JsonObject* members_;  // nullptr: silent
  ValueReader self_;
  std::vector<std::string> asked_;
  bool every_key_allowed_ = false;
};

template <class Read>
auto ValueReader::object(Read&& read) const {
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

/// The same from a file.
template <class Read>
auto read_config(const std::filesystem::path& path, Read&& read) {
  return read_document(read_json(path), std::forward<Read>(read));
}

}  // namespace lockstep
