#include "strategies/models/hugging_face/keys.hpp"

#include <fmt/format.h>

namespace lockstep::hugging_face {

namespace {

[[nodiscard]] bool is_null(const ValueReader& value) {
  return value.value() != nullptr && value.value()->get_if<std::nullptr_t>() != nullptr;
}

}  // namespace

std::optional<ValueReader> Keys::find(std::string_view key) {
  asked_.emplace(key);
  const auto found = in_.optional(key);
  return found && is_null(*found) ? std::nullopt : found;
}

bool Keys::has(std::string_view key) {
  asked_.emplace(key);
  return in_.optional(key).has_value();
}

std::string_view Keys::first_of(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (find(key)) return key;
  }
  return *keys.begin();
}

std::int64_t Keys::size(std::string_view key, std::int64_t most, std::int64_t fallback) {
  const auto found = find(key);
  if (found) return found->integer(1, most);
  return fallback > 0 ? fallback : in_.integer(key, 1, most);
}

std::int64_t Keys::count(std::string_view key, std::int64_t most, std::int64_t fallback) {
  const auto found = find(key);
  return found ? found->integer(0, most) : fallback;
}

bool Keys::flag(std::string_view key, bool fallback) {
  const auto found = find(key);
  return found ? found->boolean() : fallback;
}

double Keys::probability(std::string_view key, double fallback) {
  const auto found = find(key);
  return found ? found->number(0, 0.999) : fallback;
}

void Keys::require(std::string_view key, bool expected, std::string_view why) {
  if (flag(key, expected) != expected) refuse(key, std::string{why});
}

std::optional<ValueReader> Keys::find_around(std::string_view key) {
  const auto found = find(key);
  if (found || outer_ == nullptr) return found;
  const auto around = outer_->optional(key);
  return around && is_null(*around) ? std::nullopt : around;
}

void Keys::read_tied(TransformerConfig& config, bool fallback) {
  const auto found = find_around("tie_word_embeddings");
  config.tied_embeddings = found ? found->boolean() : fallback;
}

std::vector<std::string> Keys::unasked() {
  std::vector<std::string> out;
  for (const auto& [key, value] : in_.all()) {
    if (!asked_.contains(key)) out.push_back(key);
  }
  return out;
}

}  // namespace lockstep::hugging_face
