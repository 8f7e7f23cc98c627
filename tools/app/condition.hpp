#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::app {

enum class Relation : std::uint8_t { less, at_most, more, at_least, equal, differs };

template <typename T>
[[nodiscard]] bool holds(const T& left, Relation relation, const T& right) {
  switch (relation) {
    case Relation::less:
      return left < right;
    case Relation::at_most:
      return left <= right;
    case Relation::more:
      return left > right;
    case Relation::at_least:
      return left >= right;
    case Relation::equal:
      return left == right;
    case Relation::differs:
      return left != right;
  }
  return false;
}

/// A condition of --where or --assert, such as `days <= 30`.
struct Condition {
  std::string left;
  Relation relation = Relation::less;
  std::string right;
};

/// Splits at the first of < <= > >= == !=, with blanks and quotes around both sides removed. None
/// without such an operator or with an empty side.
[[nodiscard]] std::optional<Condition> parse_condition(std::string_view text);

}  // namespace lockstep::app
