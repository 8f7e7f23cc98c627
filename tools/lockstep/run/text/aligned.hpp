#pragma once

#include <string>

#include "sim/base/units.hpp"

/// Formats a column's numbers in one unit with equal decimals, so that decimal points align.
namespace lockstep::cli {

class TimeColumn {
 public:
  /// In the unit of the largest value of the column, which has at least four digits.
  explicit TimeColumn(Duration largest);
  [[nodiscard]] std::string operator()(Duration time) const;

 private:
  double per_second_ = 1;
  int decimals_ = 3;
  const char* unit_ = "s";
};

class BytesColumn {
 public:
  explicit BytesColumn(Bytes largest);
  [[nodiscard]] std::string operator()(Bytes bytes) const;

 private:
  double one_ = 1;
  const char* unit_ = "B";
};

/// "17,739".
[[nodiscard]] std::string with_commas(double number);

/// "3.1 years (1,132 days)" from two years on, "12.3 days" from two days on, else "5.25 hours".
[[nodiscard]] std::string calendar_text(double seconds);

/// "12.3 %".
[[nodiscard]] std::string percent_text(double share);

}  // namespace lockstep::cli
