#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/config/json/text_cursor.hpp"

namespace lockstep {

/// Line and column of any byte of a text, in any order. The text must outlive this object.
class TextPlaces {
 public:
  explicit TextPlaces(std::string_view text) : text_{text}, starts_{0} {
    for (std::size_t i = text.find('\n'); i != text.npos; i = text.find('\n', i + 1)) {
      starts_.push_back(i + 1);
    }
  }

  [[nodiscard]] Position at(std::size_t offset) const {
    const auto line = std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin();
    const std::size_t start = starts_[static_cast<std::size_t>(line) - 1];
    TextCursor cursor{text_.substr(start)};  // which passes over a byte order mark at the start
    cursor.advance_to(offset - start);
    return {static_cast<std::uint32_t>(line), cursor.position().column};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

}  // namespace lockstep
