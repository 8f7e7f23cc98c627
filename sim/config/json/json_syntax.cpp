#include "sim/config/json/json_syntax.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace lockstep {

namespace {

/// nlohmann's message taken to pieces.
struct ParserMessage {
  std::string_view context;  // "value", "object key", ...
  std::string_view fault;    // "unexpected ']'", "invalid literal", ...
  bool after_document = false;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

bool starts_with(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

bool ends_with(std::string_view text, std::string_view part) {
  return text.size() >= part.size() && text.substr(text.size() - part.size()) == part;
}

ParserMessage take_to_pieces(std::string_view what) {
  static constexpr std::string_view kContext = "while parsing ";
  static constexpr std::string_view kFault = " - ";
  ParserMessage out;
  out.after_document = ends_with(what, "; expected end of input");
  const std::size_t context = what.find(kContext);
  if (context == what.npos) {
    out.fault = what;
    return out;
  }
  what.remove_prefix(context + kContext.size());
  const std::size_t fault = what.find(kFault);
  out.context = what.substr(0, fault);
  what.remove_prefix(fault + kFault.size());
  if (starts_with(what, "unexpected ")) {
    out.fault = what.substr(0, what.find("; expected"));
  } else {
    out.fault = what.substr(0, what.find("; last read"));
  }
  return out;
}

/// Where the fault shows: at the start of the token that cannot stand there, or at the very byte.
enum class Shows { kAtToken, kAtByte };

struct PlainWords {
  std::string_view fault;  // part of nlohmann's
  Shows shows;
  std::string_view message;
};

constexpr std::array kPlainWords = {
    PlainWords{"ill-formed UTF-8", Shows::kAtByte, "this byte is not valid UTF-8"},
    PlainWords{"missing closing quote", Shows::kAtToken, "this string has no closing quote"},
    PlainWords{"(LF) must be", Shows::kAtByte,
               "a string ends on the line it begins on; write a line break as \\n"},
    PlainWords{"control character", Shows::kAtByte,
               "a control character in a string is written as \\t, \\n or \\u00XX"},
    PlainWords{"after backslash", Shows::kAtByte,
               "no such escape; there are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX"},
    PlainWords{"4 hex digits", Shows::kAtByte, "\\u takes four hexadecimal digits"},
    PlainWords{"surrogate", Shows::kAtByte,
               "half a surrogate pair; a character beyond U+FFFF takes both \\u escapes"}};

/// The ASCII word at the start of `rest`; empty where something else stands there.
std::string_view word_at(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && rest[end] > ' ' && rest[end] < 0x7f &&
         std::string_view{",:[]{}\""}.find(rest[end]) == std::string_view::npos) {
    ++end;
  }
  return rest.substr(0, end);
}

std::string_view expected_in(std::string_view context) {
  if (context == "object key") return "a key in double quotes";
  if (context == "object separator") return "\":\" after the key";
  if (context == "array") return "\",\" or \"]\"";
  if (context == "object") return "\",\" or \"}\"";
  return "a value";
}

/// Faults within a token that nlohmann has no fixed words for, or none worth keeping.
std::string describe_word(const ParserMessage& message, std::string_view rest) {
  const std::string word = in_quotes(word_at(rest));
  if (contains(message.fault, "number overflow")) return fmt::format("{} is too large", word);
  if (contains(message.fault, "number")) return fmt::format("malformed number {}", word);
  if (starts_with(rest, "/") || starts_with(rest, "#")) return "JSON has no comments";
  if (starts_with(rest, "'")) return "JSON strings take double quotes";
  if (word_at(rest).empty()) return "this character cannot stand outside a string";
  return fmt::format("expected {}, got {}", expected_in(message.context), word);
}

/// Faults within a token.
SyntaxFault describe_token_fault(const ParserMessage& message, std::size_t last_byte,
                                 TextCursor cursor) {
  for (const PlainWords& words : kPlainWords) {
    if (!contains(message.fault, words.fault)) continue;
    if (words.shows == Shows::kAtByte) cursor.advance_to(last_byte);
    return {cursor.position(), std::string{words.message}};
  }
  return {cursor.position(), describe_word(message, cursor.rest())};
}

/// What stood there instead, from the parser's "unexpected number literal" and the like.
std::string got_instead(std::string_view fault) {
  if (contains(fault, "string")) return "a string";
  if (contains(fault, "number")) return "a number";
  if (contains(fault, "end of input")) return "the end of the file";
  const std::size_t quote = fault.find('\'');
  if (quote != fault.npos) return fmt::format("\"{}\"", fault.substr(quote + 1, 1));
  return std::string{fault.substr(11, fault.find(" literal") - 11)};  // "unexpected true literal"
}

/// Faults between tokens: a token that is whole but has no place there.
std::string describe_misplaced(const ParserMessage& message, std::string_view before) {
  if (contains(message.fault, "end of input") && before.find_first_not_of(" \t\r\n") == before.npos)
    return "the file is empty";
  const std::string got = got_instead(message.fault);
  const std::size_t previous = before.find_last_not_of(" \t\r\n");
  const bool after_comma = previous != before.npos && before[previous] == ',';
  if (after_comma && (got == "\"}\"" || got == "\"]\"")) {
    return fmt::format("JSON has no comma before a closing {}", got);
  }
  return fmt::format("expected {}, got {}", expected_in(message.context), got);
}

}  // namespace

SyntaxFault describe_syntax_fault(std::string_view what, std::string_view text,
                                  std::size_t consumed, TextCursor cursor) {
  const ParserMessage message = take_to_pieces(what);
  const std::size_t last_byte = consumed == 0 ? 0 : consumed - 1;
  const bool single_character = starts_with(message.fault, "unexpected '");
  if (single_character) {
    cursor.advance_to(last_byte);
  } else {
    cursor.skip_between_tokens();
  }
  if (message.after_document) {
    return {cursor.position(), "there is more text after the end of the document"};
  }
  if (!starts_with(message.fault, "unexpected ")) {
    return describe_token_fault(message, last_byte, cursor);
  }
  return {cursor.position(), describe_misplaced(message, text.substr(0, cursor.offset()))};
}

}  // namespace lockstep
