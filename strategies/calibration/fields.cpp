#include "strategies/calibration/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

namespace {

[[nodiscard]] JsonValue numeral(double value, std::string text) {
  return {{}, JsonNumber{value, std::move(text), false}};
}

[[nodiscard]] JsonValue rate_text(Rate of) {
  return json_of(fmt::format("{:.6f} GB/s", of.bytes_per_second() / 1e9));
}

[[nodiscard]] JsonValue bytes_text(std::int64_t of) {
  return json_of(fmt::format("{} B", of));
}

}  // namespace

std::string microseconds_text(double seconds) {
  std::string out = fmt::format("{:.6f}", seconds * 1e6);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out + " us";
}

std::string microseconds_text(Duration duration) {
  return microseconds_text(duration.seconds());
}

std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}

void Fields::text(const Key& key, std::string& value) {
  if (in_ == nullptr) return set(key, json_of(value));
  value = in_->string(key);
}

void Fields::flag(const Key& key, bool& value) {
  if (in_ == nullptr) return set(key, json_of(value));
  value = in_->boolean(key);
}

void Fields::flag(const Key& key, bool& value, bool fallback) {
  if (in_ == nullptr) return set(key, json_of(value));
  value = in_->boolean(key, fallback);
}

void Fields::integer(const Key& key, std::int64_t low, std::int64_t high, std::int64_t& value) {
  if (in_ == nullptr) return set(key, json_of(value));
  value = in_->integer(key, low, high);
}

void Fields::integer(const Key& key, std::int64_t low, std::int64_t high, int& value) {
  std::int64_t wide = value;
  integer(key, low, high, wide);
  value = static_cast<int>(wide);
}

void Fields::integer(const Key& key, std::int64_t low, std::int64_t high, int& value,
                     int fallback) {
  if (in_ != nullptr) {
    value = static_cast<int>(in_->integer(key, low, high, fallback));
  } else if (value != fallback) {
    set(key, json_of(value));
  }
}

void Fields::number(const Key& key, double low, double high, double& value, bool exact) {
  if (in_ != nullptr) {
    value = in_->number(key, low, high);
  } else {
    set(key, numeral(value, exact ? fmt::format("{:.17g}", value) : number_text(value)));
  }
}

void Fields::number(const Key& key, double low, double high, double& value, double fallback) {
  if (in_ != nullptr) {
    value = in_->number(key, low, high, fallback);
  } else if (value != fallback) {
    set(key, numeral(value, number_text(value)));
  }
}

void Fields::duration(const Key& key, Duration& value) {
  if (in_ == nullptr) return set(key, json_of(microseconds_text(value)));
  value = in_->duration(key);
}

void Fields::duration(const Key& key, Duration& value, Duration fallback) {
  if (in_ != nullptr) {
    value = in_->duration(key, fallback);
  } else if (value != fallback) {
    set(key, json_of(microseconds_text(value)));
  }
}

void Fields::seconds(const Key& key, double& value) {
  if (in_ == nullptr) return set(key, json_of(microseconds_text(value)));
  value = in_->duration(key).seconds();
}

void Fields::rate(const Key& key, Rate& value) {
  if (in_ == nullptr) return set(key, rate_text(value));
  value = in_->rate(key);
}

void Fields::rate(const Key& key, std::optional<Rate>& value) {
  if (in_ != nullptr) {
    value = in_->optional_rate(key);
  } else if (value) {
    set(key, rate_text(*value));
  }
}

void Fields::flop_rate(const Key& key, std::optional<FlopRate>& value) {
  if (in_ != nullptr) {
    value = in_->optional_flop_rate(key);
  } else if (value) {
    set(key, json_of(fmt::format("{:.3f} GFLOP/s", value->per_second() / 1e9)));
  }
}

void Fields::bytes(const Key& key, std::int64_t& value, std::int64_t fallback) {
  if (in_ != nullptr) {
    const auto found = in_->optional_bytes(key);
    value = found ? found->count() : fallback;
  } else if (value != fallback) {
    set(key, bytes_text(value));
  }
}

void Fields::positive_bytes(const Key& key, std::int64_t& value) {
  if (in_ == nullptr) return set(key, bytes_text(value));
  value = in_->positive_bytes(key).count();
}

void Fields::name(const Key& key, std::string_view noun, const std::vector<std::string_view>& names,
                  std::size_t& value) {
  if (in_ == nullptr) return set(key, json_of(names[value]));
  const auto found = std::find(names.begin(), names.end(), in_->one_of(key, noun, names));
  value = found == names.end() ? 0 : static_cast<std::size_t>(found - names.begin());
}

}  // namespace lockstep
