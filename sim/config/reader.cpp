#include "sim/config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/config/complaint.hpp"

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
  return read_quantity(*this, rate_words(), parse_rate, Rate::bytes_per_second(1));
}

Duration ValueReader::duration() const {
  return read_quantity(*this, duration_words(), parse_duration, Duration{});
}

Bytes ValueReader::bytes() const {
  return read_quantity(*this, bytes_words(), parse_bytes, Bytes{});
}

Bytes ValueReader::positive_bytes() const {
  return read_quantity(*this, positive_bytes_words(), parse_positive_bytes, Bytes{1});
}

FlopRate ValueReader::flop_rate() const {
  return read_quantity(*this, flop_rate_words(), parse_flop_rate, FlopRate{1});
}

std::int64_t ValueReader::integer(std::int64_t min, std::int64_t max) const {
  if (value_ == nullptr) return min;
  const auto* whole = value_->get_if<std::int64_t>();
  if (whole != nullptr && *whole >= min && *whole <= max) return *whole;
  refuse(range_of("an integer", min, max));
  return min;
}

double ValueReader::number(double min, double max) const {
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
  const bool* found = expect<bool>("true or false");
  return found != nullptr && *found;
}

std::string ValueReader::string() const {
  const auto* found = expect<std::string>("a text");
  if (found == nullptr) return {};
  if (found->empty()) note("expected a text that is not empty");
  return *found;
}

std::optional<std::string> ValueReader::known_name(
    std::string_view noun, const std::vector<std::string_view>& names) const {
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

ValueReader ObjectReader::required(std::string_view key) {
  const JsonValue* found = find(key);
  if (found == nullptr && members_ != nullptr) {
    self_.note(fmt::format("the key {} is missing", in_quotes(key)));
  }
  return {found, child_pointer(self_.pointer(), key), self_.problems()};
}

std::optional<ValueReader> ObjectReader::optional(std::string_view key) {
  const JsonValue* found = find(key);
  if (found == nullptr) return std::nullopt;
  return ValueReader{found, child_pointer(self_.pointer(), key), self_.problems()};
}

std::optional<Rate> ObjectReader::optional_rate(std::string_view key) {
  const auto found = optional(key);
  return found ? std::optional{found->rate()} : std::nullopt;
}

std::optional<Duration> ObjectReader::optional_duration(std::string_view key) {
  const auto found = optional(key);
  return found ? std::optional{found->duration()} : std::nullopt;
}

std::optional<Bytes> ObjectReader::optional_bytes(std::string_view key) {
  const auto found = optional(key);
  return found ? std::optional{found->bytes()} : std::nullopt;
}

std::optional<FlopRate> ObjectReader::optional_flop_rate(std::string_view key) {
  const auto found = optional(key);
  return found ? std::optional{found->flop_rate()} : std::nullopt;
}

std::optional<std::int64_t> ObjectReader::optional_integer(std::string_view key, std::int64_t min,
                                                           std::int64_t max) {
  const auto found = optional(key);
  return found ? std::optional{found->integer(min, max)} : std::nullopt;
}

std::optional<double> ObjectReader::optional_number(std::string_view key, double min, double max) {
  const auto found = optional(key);
  return found ? std::optional{found->number(min, max)} : std::nullopt;
}

std::optional<bool> ObjectReader::optional_boolean(std::string_view key) {
  const auto found = optional(key);
  return found ? std::optional{found->boolean()} : std::nullopt;
}

std::optional<std::string> ObjectReader::optional_string(std::string_view key) {
  const auto found = optional(key);
  return found ? std::optional{found->string()} : std::nullopt;
}

std::optional<std::string> ObjectReader::optional_one_of(
    std::string_view key, std::string_view noun, const std::vector<std::string_view>& names) {
  const auto found = optional(key);
  return found ? std::optional{found->one_of(noun, names)} : std::nullopt;
}

std::optional<std::string> ObjectReader::kind(std::string_view key, std::string_view noun,
                                              const std::vector<std::string_view>& names) {
  auto found = required(key).known_name(noun, names);
  if (!found) every_key_allowed_ = true;
  return found;
}

void ObjectReader::note(std::string_view key, std::string message) {
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
