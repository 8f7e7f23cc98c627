#include "sim/config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/config/complaint.hpp"
#include "sim/config/json/json_schema.hpp"
#include "sim/config/json/json_values.hpp"

namespace lockstep {

namespace {

std::string range_of(std::string_view noun, double min, double max) {
  if (max == HUGE_VAL) return fmt::format("{} of at least {}", noun, min);
  return fmt::format("{} from {} to {}", noun, min, max);
}

std::string range_of(std::string_view noun, std::int64_t min, std::int64_t max) {
  if (max == INT64_MAX) return fmt::format("{} of at least {}", noun, min);
  return fmt::format("{} from {} to {}", noun, min, max);
}

std::string elements(std::size_t count) {
  return fmt::format("{} element{}", count, count == 1 ? "" : "s");
}

template <class Quantity>
Quantity read_quantity(const ValueReader& reader, const QuantityWords& words,
                       std::optional<Quantity> (*parse)(std::string_view), Quantity harmless) {
  if (reader.value() == nullptr) return harmless;
  if (const auto* text = reader.value()->get_if<std::string>()) {
    if (const auto parsed = parse(*text)) return *parsed;
  }
  reader.note(complain_of_quantity(words, *reader.value()));
  return harmless;
}

std::optional<Bytes> parse_positive_bytes(std::string_view text) {
  const auto parsed = parse_bytes(text);
  return parsed && *parsed > Bytes{0} ? parsed : std::nullopt;
}

std::optional<double> as_double(const JsonValue& value) {
  if (const auto* whole = value.get_if<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* number = value.get_if<JsonNumber>()) return number->value;
  return std::nullopt;
}

}  // namespace

Rate ValueReader::rate() const {
  if (describes()) allow(reference_schema("rate"));
  return read_quantity(*this, rate_words(), parse_rate, Rate::bytes_per_second(1));
}

Duration ValueReader::duration() const {
  if (describes()) allow(reference_schema("duration"));
  return read_quantity(*this, duration_words(), parse_duration, Duration{});
}

Bytes ValueReader::bytes() const {
  if (describes()) allow(reference_schema("bytes"));
  return read_quantity(*this, bytes_words(), parse_bytes, Bytes{});
}

Bytes ValueReader::positive_bytes() const {
  if (describes()) allow(reference_schema("size"));
  return read_quantity(*this, positive_bytes_words(), parse_positive_bytes, Bytes{1});
}

FlopRate ValueReader::flop_rate() const {
  if (describes()) allow(reference_schema("flop_rate"));
  return read_quantity(*this, flop_rate_words(), parse_flop_rate, FlopRate{1});
}

std::int64_t ValueReader::integer(std::int64_t min, std::int64_t max) const {
  if (describes()) allow(integer_schema(min, max));
  if (value_ == nullptr) return min;
  const auto* whole = value_->get_if<std::int64_t>();
  if (whole != nullptr && *whole >= min && *whole <= max) return *whole;
  refuse(range_of("an integer", min, max));
  return min;
}

double ValueReader::number(double min, double max) const {
  if (describes()) allow(number_schema(min, max));
  if (value_ == nullptr) return min;
  const auto number = as_double(*value_);
  if (number && *number >= min && *number <= max) return *number;
  refuse(range_of("a number", min, max));
  return min;
}

template <class T>
const T* ValueReader::expect(std::string_view what) const {
  if (value_ == nullptr) return nullptr;
  const T* found = value_->get_if<T>();
  if (found == nullptr) refuse(what);
  return found;
}

bool ValueReader::boolean() const {
  if (describes()) allow(boolean_schema());
  const bool* found = expect<bool>("true or false");
  return found != nullptr && *found;
}

std::string ValueReader::string() const {
  if (describes()) allow(reference_schema("text"));
  const auto* found = expect<std::string>("a text");
  if (found == nullptr) return {};
  if (found->empty()) note("expected a text that is not empty");
  return *found;
}

std::optional<std::string> ValueReader::known_name(
    std::string_view noun, const std::vector<std::string_view>& names) const {
  if (describes()) allow(names_schema(names));
  const auto* found = expect<std::string>(fmt::format("the name of a {} in double quotes", noun));
  if (found == nullptr) return std::nullopt;
  if (std::find(names.begin(), names.end(), *found) != names.end()) return *found;
  note(complain_of_name(noun, *found, names));
  return std::nullopt;
}

std::string ValueReader::one_of(std::string_view noun,
                                const std::vector<std::string_view>& names) const {
  return known_name(noun, names).value_or(std::string{names.front()});
}

const JsonObject* ValueReader::members() const {
  return expect<JsonObject>("an object");
}

const JsonArray* ValueReader::elements_of(std::size_t min_size, std::size_t max_size) const {
  const auto* found = expect<JsonArray>("an array");
  if (found == nullptr) return nullptr;
  if (found->size() < min_size) {
    note(fmt::format("expected at least {}, got {}", elements(min_size), found->size()));
  } else if (found->size() > max_size) {
    note(fmt::format("expected at most {}, got {}", elements(max_size), found->size()));
    return nullptr;
  }
  return found;
}

void ValueReader::allow(JsonValue schema) const {
  if (describes()) description_->add(std::move(schema));
}

void ValueReader::allow_null() const {
  if (describes()) description_->add_null();
}

void ValueReader::refine(std::string_view keyword, std::string_view json) const {
  if (describes()) description_->refine(keyword, parse_json(json, "").root);
}

void ValueReader::add_array(const ValueDescription& items, std::size_t min_size,
                            std::size_t max_size) const {
  JsonValue schema = array_schema(items.schema(), static_cast<std::int64_t>(min_size));
  if (max_size != SIZE_MAX)
    set_member(std::get<JsonObject>(schema.data), "maxItems",
               json_of(static_cast<std::int64_t>(max_size)));
  allow(std::move(schema));
}

void ValueReader::note(std::string message) const {
  if (value_ != nullptr) problems_->note(value_->at, pointer_, std::move(message));
}

void ValueReader::refuse(std::string_view expected) const {
  if (value_ != nullptr) note(expected_but_got(expected, *value_));
}

const JsonValue* ObjectReader::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  return members_ == nullptr ? nullptr : find_member(*members_, key);
}

ValueReader ObjectReader::required(const Key& key) {
  if (describes()) return described(key, true);
  const JsonValue* found = find(key.name);
  if (found == nullptr && members_ != nullptr) {
    self_.note(fmt::format("the key {} is missing", in_quotes(key.name)));
  }
  return {found, child_pointer(self_.pointer(), key.name), self_.problems()};
}

std::optional<ValueReader> ObjectReader::optional(const Key& key) {
  if (describes()) return described(key, false);
  const JsonValue* found = find(key.name);
  if (found == nullptr) return std::nullopt;
  return ValueReader{found, child_pointer(self_.pointer(), key.name), self_.problems()};
}

ValueReader ObjectReader::described(const Key& key, bool required) {
  return {nullptr, child_pointer(self_.pointer(), key.name), self_.problems(),
          &description_->property(key.name, key.help, required)};
}

void ObjectReader::refine(std::string_view keyword, std::string_view json) {
  if (describes()) description_->refine(keyword, parse_json(json, "").root);
}

std::optional<Rate> ObjectReader::optional_rate(const Key& key) {
  const auto found = optional(key);
  return found ? std::optional{found->rate()} : std::nullopt;
}

std::optional<Duration> ObjectReader::optional_duration(const Key& key) {
  const auto found = optional(key);
  return found ? std::optional{found->duration()} : std::nullopt;
}

std::optional<Bytes> ObjectReader::optional_bytes(const Key& key) {
  const auto found = optional(key);
  return found ? std::optional{found->bytes()} : std::nullopt;
}

std::optional<FlopRate> ObjectReader::optional_flop_rate(const Key& key) {
  const auto found = optional(key);
  return found ? std::optional{found->flop_rate()} : std::nullopt;
}

std::optional<std::int64_t> ObjectReader::optional_integer(const Key& key, std::int64_t min,
                                                           std::int64_t max) {
  const auto found = optional(key);
  return found ? std::optional{found->integer(min, max)} : std::nullopt;
}

std::optional<double> ObjectReader::optional_number(const Key& key, double min, double max) {
  const auto found = optional(key);
  return found ? std::optional{found->number(min, max)} : std::nullopt;
}

std::optional<bool> ObjectReader::optional_boolean(const Key& key) {
  const auto found = optional(key);
  return found ? std::optional{found->boolean()} : std::nullopt;
}

std::optional<std::string> ObjectReader::optional_string(const Key& key) {
  const auto found = optional(key);
  return found ? std::optional{found->string()} : std::nullopt;
}

std::optional<std::string> ObjectReader::optional_one_of(
    const Key& key, std::string_view noun, const std::vector<std::string_view>& names) {
  const auto found = optional(key);
  return found ? std::optional{found->one_of(noun, names)} : std::nullopt;
}

std::optional<std::string> ObjectReader::kind(const Key& key, std::string_view noun,
                                              const std::vector<std::string_view>& names,
                                              std::string_view fallback) {
  if (describes()) return description_->choose_kind(key.name, key.help, names, fallback);
  if (!fallback.empty() && !optional(key)) return std::string{fallback};
  auto found = required(key).known_name(noun, names);
  if (!found) every_key_allowed_ = true;
  return found;
}

std::optional<ValueReader> ObjectReader::decisive(const Key& key) {
  if (!describes()) return optional(key);
  return description_->choose(2) == 0 ? std::nullopt : std::optional{required(key)};
}

void ObjectReader::note(std::string_view key, std::string message) {
  if (describes()) return;
  const auto found = optional(key);
  if (found) {
    found->note(std::move(message));
  } else {
    note(std::move(message));
  }
}

std::vector<std::pair<std::string, ValueReader>> ObjectReader::all() {
  every_key_allowed_ = true;
  std::vector<std::pair<std::string, ValueReader>> out;
  if (describes())
    out.emplace_back(
        "", ValueReader{nullptr, self_.pointer(), self_.problems(), &description_->others()});
  if (members_ == nullptr) return out;
  for (const JsonMember& member : *members_) {
    out.emplace_back(
        member.key,
        ValueReader{&member.value, child_pointer(self_.pointer(), member.key), self_.problems()});
  }
  return out;
}

void ObjectReader::refuse_unknown_keys() const {
  if (members_ == nullptr || every_key_allowed_) return;
  const std::vector<std::string_view> allowed(asked_.begin(), asked_.end());
  for (const JsonMember& member : *members_) {
    if (std::find(allowed.begin(), allowed.end(), member.key) != allowed.end()) continue;
    const bool kept = self_.problems().keeps_more();
    self_.problems().note(member.key_at, child_pointer(self_.pointer(), member.key),
                          kept ? complain_of_key(member.key, allowed) : "");
  }
}

}  // namespace lockstep
