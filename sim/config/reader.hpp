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

/// Strict reading: exact types, units required, unknown keys refused. A verb that finds something
/// wrong notes a problem and returns a harmless value (the smallest allowed), so that reading goes
/// on and every problem of a file is reported at once:
///
///   Cable cable = read_config(path, [](ObjectReader& in) {
///     return Cable{in.rate("bandwidth"),                  // required
///                  in.duration("latency", 500_ns),        // with a default
///                  in.optional_bytes("buffer")};          // std::optional
///   });
namespace lockstep {

class ObjectReader;

/// One value of a document with its place. A reader of a missing value (its key was required, and
/// that has been noted) is silent: every verb returns its harmless value.
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
  /// One of `names`; `noun` says what they name: no {noun} named "rng"; did you mean "ring"?
  [[nodiscard]] std::string one_of(std::string_view noun,
                                   const std::vector<std::string_view>& names) const;
  /// The same, but nothing (instead of the first of `names`) where that has been refused.
  [[nodiscard]] std::optional<std::string> known_name(
      std::string_view noun, const std::vector<std::string_view>& names) const;

  /// Calls `read(ObjectReader&)` and returns what it returns; then refuses the keys that it did
  /// not ask for. Where this is no object, `read` is called anyway, on a silent reader.
  template <class Read>
  auto object(Read&& read) const;

  /// Calls `each(ValueReader)` for every element, in order. The number of elements must be within
  /// min_size..max_size; of too many none is read.
  template <class Each>
  void array(Each&& each, std::size_t min_size = 0, std::size_t max_size = SIZE_MAX) const {
    const JsonArray* elements = elements_of(min_size, max_size);
    if (elements == nullptr) return;
    for (std::size_t i = 0; i < elements->size(); ++i) {
      each(ValueReader{&(*elements)[i], child_pointer(pointer_, i), *problems_});
    }
  }

  /// Notes a problem of the caller's own at this value; nothing where the value is missing.
  void note(std::string message) const;
  /// Notes `expected {expected}, got ...` with the value.
  void refuse(std::string_view expected) const;

  [[nodiscard]] bool is_object() const { return has<JsonObject>(); }
  [[nodiscard]] bool is_array() const { return has<JsonArray>(); }
  [[nodiscard]] bool is_string() const { return has<std::string>(); }
  /// nullptr where it is missing.
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

/// The members of one object, by key. Each verb has three forms: `rate(key)` requires the key,
/// `rate(key, fallback)` takes the fallback where it is absent, `optional_rate(key)` returns
/// nothing where it is absent. null counts as a value of the wrong type, not as absent.
class ObjectReader {
 public:
  ObjectReader(const JsonObject* members, ValueReader self)
      : members_{members}, self_{std::move(self)} {}

  /// The value of a key; its absence is noted (on the object) and gives a silent reader.
  [[nodiscard]] ValueReader required(std::string_view key);
  /// The value of a key that may be absent.
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

  /// The required name that decides which other keys belong here. Where it is missing or refused,
  /// nothing; the other keys are then left alone, since nobody knows which are right.
  [[nodiscard]] std::optional<std::string> kind(std::string_view key, std::string_view noun,
                                                const std::vector<std::string_view>& names);

  template <class Read>
  auto object(std::string_view key, Read&& read) {
    return required(key).object(std::forward<Read>(read));
  }
  /// std::optional of what `read` returns, which must not be void; `read` is not called where the
  /// key is absent.
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
  /// An absent array is an empty one.
  template <class Each>
  void optional_array(std::string_view key, Each&& each, std::size_t min_size = 0,
                      std::size_t max_size = SIZE_MAX) {
    if (const auto found = optional(key)) {
      found->array(std::forward<Each>(each), min_size, max_size);
    }
  }

  /// Notes a problem of the caller's own at the value of `key`, or at the object where that is
  /// absent.
  void note(std::string_view key, std::string message);
  /// At the object itself.
  void note(std::string message) {
    if (members_ != nullptr) self_.note(std::move(message));
  }

  /// All members in order, for objects whose keys are the user's own; allows every key.
  [[nodiscard]] std::vector<std::pair<std::string, ValueReader>> all();

  /// The object as a value.
  [[nodiscard]] const ValueReader& self() const { return self_; }
  /// Notes every key that nobody has asked for; ValueReader::object calls it.
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

/// Hands the document's top-level object to `read(ObjectReader&)` and returns what it returns.
/// The key "$schema" is allowed there. Throws ConfigError with every problem noted.
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
