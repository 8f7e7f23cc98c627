#pragma once

#include <cstddef>
#include <string_view>

#include "sim/config/json/config_error.hpp"

namespace lockstep {

/// Tracks line and column while advancing through a text, in linear time also for very long lines.
class TextCursor {
 public:
  /// Skips a byte order mark.
  explicit TextCursor(std::string_view text) : text_{text} {
    if (text.substr(0, 3) == "\xEF\xBB\xBF") offset_ = 3;
  }

  /// Advances to a byte offset; no effect if it has been passed.
  void advance_to(std::size_t offset) {
    while (offset_ < offset && offset_ < text_.size()) step();
  }
  /// Skips what is allowed between JSON tokens.
  void skip_between_tokens() {
    while (offset_ < text_.size() && kBetween.find(text_[offset_]) != kBetween.npos) step();
  }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(offset_); }
  [[nodiscard]] Position position() const { return {line_, column_}; }

 private:
  static constexpr std::string_view kBetween = " \t\r\n,:";

  void step() {
    const auto byte = static_cast<unsigned char>(text_[offset_++]);
    if (byte == '\n') {
      ++line_;
      column_ = 1;
      return;
    }
    // A code point ends where no continuation byte follows.
    const bool continues =
        offset_ < text_.size() && (static_cast<unsigned char>(text_[offset_]) & 0xC0U) == 0x80U;
    if (!continues || byte < 0x80) ++column_;
  }

  std::string_view text_;
  std::size_t offset_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
};

}  // namespace lockstep
