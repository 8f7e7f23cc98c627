#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/json/json_values.hpp"
#include "sim/config/reader.hpp"

namespace lockstep {

/// The members of an object, read or written by one function: the declaration of a format that the
/// program writes too. Where there is no document, it is described, as by any reader. A value with
/// a `fallback` is written only if it differs, a flag always.
class Fields {
 public:
  explicit Fields(ObjectReader& in) : in_{&in} {}
  explicit Fields(JsonObject& out) : out_{&out} {}

  /// nullptr if it writes.
  [[nodiscard]] ObjectReader* reader() const { return in_; }

  void text(const Key& key, std::string& value);
  void flag(const Key& key, bool& value);
  void flag(const Key& key, bool& value, bool fallback);
  void integer(const Key& key, std::int64_t low, std::int64_t high, std::int64_t& value);
  void integer(const Key& key, std::int64_t low, std::int64_t high, int& value);
  void integer(const Key& key, std::int64_t low, std::int64_t high, int& value, int fallback);
  /// Six digits; `exact`: all.
  void number(const Key& key, double low, double high, double& value, bool exact = false);
  void number(const Key& key, double low, double high, double& value, double fallback);
  /// In microseconds, to the picosecond.
  void duration(const Key& key, Duration& value);
  void duration(const Key& key, Duration& value, Duration fallback);
  void seconds(const Key& key, double& value);
  void rate(const Key& key, Rate& value);
  void rate(const Key& key, std::optional<Rate>& value);
  void flop_rate(const Key& key, std::optional<FlopRate>& value);
  void bytes(const Key& key, std::int64_t& value, std::int64_t fallback);
  void positive_bytes(const Key& key, std::int64_t& value);
  /// `value` is an index into the names.
  void name(const Key& key, std::string_view noun, const std::vector<std::string_view>& names,
            std::size_t& value);

  /// `fields(Fields&, Part&)` declares the members of the part.
  template <class Part, class Of>
  void object(const Key& key, Part& part, Of&& fields) {
    if (in_ != nullptr) return in_->object(key, [&](ObjectReader& in) { read(in, part, fields); });
    set(key, written(part, fields));
  }
  template <class Part, class Of>
  void object(const Key& key, std::optional<Part>& part, Of&& fields) {
    if (in_ == nullptr) {
      if (part) set(key, written(*part, fields));
      return;
    }
    const auto found = in_->optional(key);
    if (!found) return;
    part.emplace();
    found->object([&](ObjectReader& in) { read(in, *part, fields); });
  }
  /// `check(const ValueReader&, const std::vector<Part>&)` notes what is wrong with the last one.
  template <class Part, class Of, class Check>
  void array(const Key& key, std::vector<Part>& parts, Of&& fields, Check&& check,
             std::size_t least = 0) {
    if (in_ == nullptr) return set(key, array_of(parts, fields));
    in_->array(
        key, [&](const ValueReader& one) { read_next(one, parts, fields, check); }, least);
  }
  template <class Part, class Of>
  void array(const Key& key, std::vector<Part>& parts, Of&& fields) {
    array(key, parts, fields, [](const ValueReader& /*each*/, const std::vector<Part>& /*all*/) {});
  }
  /// Absent if empty, else with one part at least.
  template <class Part, class Of, class Check>
  void optional_array(const Key& key, std::vector<Part>& parts, Of&& fields, Check&& check) {
    if (in_ == nullptr) {
      if (!parts.empty()) set(key, array_of(parts, fields));
      return;
    }
    if (const auto found = in_->optional(key))
      found->array([&](const ValueReader& one) { read_next(one, parts, fields, check); }, 1);
  }

  /// A member of another declaration.
  void set(const Key& key, JsonValue value) { set_member(*out_, key.name, std::move(value)); }

 private:
  template <class Part, class Of>
  static void read(ObjectReader& in, Part& part, Of& fields) {
    Fields members{in};
    fields(members, part);
  }
  template <class Part, class Of, class Check>
  static void read_next(const ValueReader& one, std::vector<Part>& parts, Of& fields,
                        Check& check) {
    parts.emplace_back();
    one.object([&](ObjectReader& in) { read(in, parts.back(), fields); });
    check(one, parts);
  }
  template <class Part, class Of>
  [[nodiscard]] static JsonValue written(const Part& part, Of& fields) {
    JsonObject out;
    Fields members{out};
    Part copy = part;  // a declaration takes what it could read into
    fields(members, copy);
    return {{}, std::move(out)};
  }
  template <class Part, class Of>
  [[nodiscard]] static JsonValue array_of(const std::vector<Part>& parts, Of& fields) {
    JsonArray out;
    for (const Part& part : parts) out.push_back(written(part, fields));
    return {{}, std::move(out)};
  }

  ObjectReader* in_ = nullptr;
  JsonObject* out_ = nullptr;
};

/// How Fields writes numbers.
[[nodiscard]] std::string microseconds_text(double seconds);
[[nodiscard]] std::string microseconds_text(Duration duration);
[[nodiscard]] std::string number_text(double value);

}  // namespace lockstep
