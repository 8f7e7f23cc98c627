#include "tools/app/condition.hpp"

#include <algorithm>
#include <array>

namespace lockstep::app {

namespace {

struct Sign {
  std::string_view text;
  Relation relation;
};
constexpr std::array<Sign, 6> kSigns{{{"<=", Relation::at_most},
                                      {">=", Relation::at_least},
                                      {"==", Relation::equal},
                                      {"!=", Relation::differs},
                                      {"<", Relation::less},
                                      {">", Relation::more}}};

/// Without blanks and quotes around it.
std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  text = text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return std::string{quoted ? text.substr(1, text.size() - 2) : text};
}

}  // namespace

std::optional<Condition> parse_condition(std::string_view text) {
  const std::size_t at = std::min(text.find_first_of("<>=!"), text.size());
  const std::string_view rest = text.substr(at);
  for (const Sign& sign : kSigns) {
    if (!rest.starts_with(sign.text)) continue;
    Condition out{trimmed(text.substr(0, at)), sign.relation,
                  trimmed(rest.substr(sign.text.size()))};
    if (out.left.empty() || out.right.empty()) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

}  // namespace lockstep::app
