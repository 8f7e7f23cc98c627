#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/reader.hpp"
#include "strategies/models/model_config.hpp"

namespace lockstep::hugging_face {

/// The members of a config.json. null counts as absent, as in transformers' own classes, and
/// every key that is asked for is remembered, so that those without effect can be reported.
class Keys {
 public:
  /// `outer`: the object around a text_config, in which tie_word_embeddings and seq may stand; else
  /// nullptr.
  explicit Keys(ObjectReader& in, ObjectReader* outer = nullptr) : in_{in}, outer_{outer} {}

  [[nodiscard]] std::optional<ValueReader> find(std::string_view key);
  /// Whether the key is there, be it null.
  [[nodiscard]] bool has(std::string_view key);
  /// The first of some keys that is there.
  [[nodiscard]] std::string_view first_of(std::initializer_list<std::string_view> keys);

  /// 1 .. most; without `fallback` (above zero) its absence is an error.
  std::int64_t size(std::string_view key, std::int64_t most, std::int64_t fallback = 0);
  /// 0 .. most.
  std::int64_t count(std::string_view key, std::int64_t most, std::int64_t fallback);
  bool flag(std::string_view key, bool fallback);
  double probability(std::string_view key, double fallback);

  /// Notes an error at `key` where the flag is not `expected`, which is also its default.
  void only(std::string_view key, bool expected, std::string_view why);
  /// Notes an error at `key`.
  void refuse(std::string_view key, std::string message) { in_.note(key, std::move(message)); }
  /// Says something to the user that is no error.
  void say(std::string note) { notes_.push_back(std::move(note)); }

  /// The value of a key here or else around the text_config.
  [[nodiscard]] std::optional<ValueReader> find_around(std::string_view key);
  void read_tied(TransformerConfig& config, bool fallback);

  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }
  /// Keys that nobody has asked for, in the file's order.
  [[nodiscard]] std::vector<std::string> unasked();
  [[nodiscard]] ObjectReader& in() { return in_; }

 private:
  ObjectReader& in_;
  ObjectReader* outer_;
  std::set<std::string, std::less<>> asked_{};
  std::vector<std::string> notes_{};
};

}  // namespace lockstep::hugging_face
