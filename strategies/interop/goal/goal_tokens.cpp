#include "strategies/interop/goal/goal_tokens.hpp"

#include <algorithm>

namespace lockstep {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

bool is_in_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool continues_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

GoalTokens::GoalTokens(std::string_view text) : text_{text}, offset_{0}, cursor_{text} {
  offset_ = cursor_.offset();
  read_next();
}

GoalToken GoalTokens::take() {
  const GoalToken taken = next_;
  last_line_ = taken.at.line;
  read_next();
  return taken;
}

void GoalTokens::read_next() {
  skip_blanks_and_comments();
  cursor_.advance_to(offset_);
  const std::size_t first = offset_;
  GoalToken::Kind kind = GoalToken::Kind::end;
  if (offset_ < text_.size() && is_in_word(text_[offset_])) {
    kind = GoalToken::Kind::word;
    while (offset_ < text_.size() && is_in_word(text_[offset_])) ++offset_;
  } else if (offset_ < text_.size()) {
    kind = GoalToken::Kind::mark;
    ++offset_;
    while (offset_ < text_.size() && continues_code_point(text_[offset_])) ++offset_;
  }
  next_ = {kind, text_.substr(first, offset_ - first), cursor_.position()};
}

void GoalTokens::skip_blanks_and_comments() {
  for (;;) {
    while (offset_ < text_.size() && is_blank(text_[offset_])) ++offset_;
    if (at("//")) {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
    } else if (at("/*")) {
      const std::size_t close = text_.find("*/", offset_ + 2);
      if (close == text_.npos) {
        cursor_.advance_to(offset_);
        open_comment_ = cursor_.position();
      }
      offset_ = close == text_.npos ? text_.size() : close + 2;
    } else {
      return;
    }
  }
}

}  // namespace lockstep
