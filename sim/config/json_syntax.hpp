#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/config/text_cursor.hpp"

namespace lockstep {

/// A fault of syntax in plain words.
struct SyntaxFault {
  Position at;
  std::string message;
};

/// Says what the parser found, without the parser's own terms. `what` is nlohmann's message
/// (3.11: "... syntax error while parsing CONTEXT - FAULT[; last read: ...][; expected ...]"),
/// `consumed` the bytes it had read by then; `cursor` stands behind the last whole token.
[[nodiscard]] SyntaxFault describe_syntax_fault(std::string_view what, std::string_view text,
                                                std::size_t consumed, TextCursor cursor);

}  // namespace lockstep
