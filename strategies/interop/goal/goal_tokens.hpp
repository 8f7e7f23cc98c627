#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/config/json/config_error.hpp"
#include "sim/config/json/text_cursor.hpp"

namespace lockstep {

/// A word (letters, digits and underscores), one other character, or the end of the text.
struct GoalToken {
  enum class Kind : std::uint8_t { word, mark, end };
  Kind kind = Kind::end;
  std::string_view text;
  Position at;

  [[nodiscard]] bool is(std::string_view wanted) const { return text == wanted; }
};

/// Splits GOAL text into tokens with one token of lookahead; skips blanks and comments.
class GoalTokens {
 public:
  explicit GoalTokens(std::string_view text);

  [[nodiscard]] const GoalToken& next() const { return next_; }
  GoalToken take();
  /// Line of the last token taken.
  [[nodiscard]] std::uint32_t last_line() const { return last_line_; }
  /// Start of an unterminated comment.
  [[nodiscard]] std::optional<Position> open_comment() const { return open_comment_; }

 private:
  void read_next();
  void skip_blanks_and_comments();
  [[nodiscard]] bool at(std::string_view wanted) const {
    return text_.substr(offset_, wanted.size()) == wanted;
  }

  std::string_view text_;
  std::size_t offset_;
  TextCursor cursor_;
  GoalToken next_;
  std::uint32_t last_line_ = 0;
  std::optional<Position> open_comment_;
};

}  // namespace lockstep
