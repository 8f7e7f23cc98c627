#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/error.hpp"
#include "tools/app/condition.hpp"
#include "tools/lockstep/output/output.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

/// Conditions on results, so that a command can gate a pipeline of continuous integration.
namespace lockstep::cli {

/// `step_time_s < 12`: a column of the data formats, a comparison and a value. Numbers take the
/// units of the column's suffix: _s, _bytes and _Bps ("200 ms", "4 GiB", "50 GB/s"), _fraction ("40
/// %").
struct Assertion {
  std::string option;  // "--assert"
  std::string text;    // as written
  std::string key;
  app::Relation relation = app::Relation::less;
  std::variant<double, bool, std::string> value;
};

/// Errors: UsageError for a text that is none, a unit that the column does not have, or an order
/// of texts.
[[nodiscard]] Assertion parse_assertion(const std::string& text,
                                        const std::string& option = "--assert");

/// Whether it holds for the first row. Errors: UsageError for an unknown key.
[[nodiscard]] bool holds_for(const Assertion& assertion, const Report& report);

/// Which rows an assertion is about.
enum class AssertedRows : std::uint8_t { all, first };

/// Throws AssertionFailed, which names the rows that are against it, at most three. A value that is
/// absent is against it, and so is a report without rows. Errors: UsageError for an unknown key.
void check_assertions(const std::vector<Assertion>& assertions, const Report& report,
                      AssertedRows rows);

class AssertionFailed : public Error {
 public:
  explicit AssertionFailed(const std::string& message)
      : Error{ErrorCode::negative_result, message} {}
};

/// --assert CONDITION, repeatable; `about` names the rows in the help text.
void add_assertions(const Command& command, std::vector<std::string>& texts,
                    const std::string& about);

[[nodiscard]] std::vector<Assertion> parse_assertions(const std::vector<std::string>& texts);

}  // namespace lockstep::cli
