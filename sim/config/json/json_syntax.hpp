#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/config/json/text_cursor.hpp"

namespace lockstep {

/// A syntax error in plain words.
struct SyntaxFault {
  Position at;
  std::string message;
};

/// Rephrases the parser's error without its internal terms. `what`: nlohmann's message (3.11: "...
/// syntax error while parsing CONTEXT - FAULT[; last read: ...][; expected ...]"); `consumed`:
/// bytes read by then; `cursor`: after the last complete token.
[[nodiscard]] SyntaxFault describe_syntax_fault(std::string_view what, std::string_view text,
                                                std::size_t consumed, TextCursor cursor);

}  // namespace lockstep
