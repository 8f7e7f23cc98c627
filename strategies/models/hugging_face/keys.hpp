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

/// The members of a config.json. null counts as absent, as in transformers. Records which keys were
/// read, so that unused ones can be reported.
class Keys {
 public:
  /// `outer`: the object that contains a text_config, which may have tie_word_embeddings and seq;
  /// or nullptr.
  explicit Keys(ObjectReader& in, ObjectReader* outer = nullptr) : in_{in}, outer_{outer} {}

  [[nodiscard]] std::optional<ValueReader> find(std::string_view key);
  /// Whether the key is present, also as null.
  [[nodiscard]] bool has(std::string_view key);
  /// The first of some keys that is present.
  [[nodiscard]] std::string_view first_of(std::initializer_list<std::string_view> keys);

  /// Reads 1 .. most; required unless `fallback` is positive.
  std::int64_t size(std::string_view key, std::int64_t most, std::int64_t fallback = 0);
  /// Reads 0 .. most.
  std::int64_t count(std::string_view key, std::int64_t most, std::int64_t fallback);
  bool flag(std::string_view key, bool fallback);
  double probability(std::string_view key, double fallback);

  /// Reports an error at `key` unless the flag is `expected`, which is also its default.
  void require(std::string_view key, bool expected, std::string_view why);
  /// Reports an error at `key`.
  void refuse(std::string_view key, std::string message) { in_.note(key, std::move(message)); }
  /// Adds a note for the user.
  void say(std::string note) { notes_.push_back(std::move(note)); }

  /// The value of a key here or in the object around the text_config.
  [[nodiscard]] std::optional<ValueReader> find_around(std::string_view key);
  void read_tied(TransformerConfig& config, bool fallback);

  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }
  /// Keys that were not read, in file order.
  [[nodiscard]] std::vector<std::string> unasked();
  [[nodiscard]] ObjectReader& in() { return in_; }

 private:
  ObjectReader& in_;
  ObjectReader* outer_;
  std::set<std::string, std::less<>> asked_{};
  std::vector<std::string> notes_{};
};

}  // namespace lockstep::hugging_face
