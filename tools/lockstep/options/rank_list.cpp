#include "tools/lockstep/options/rank_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

constexpr int kMostRanksListed = 1 << 16;

std::optional<int> number_of(std::string_view text, int least) {
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  if (number < least || number > kMostRanksListed) return std::nullopt;
  return number;
}

}  // namespace

std::vector<int> parse_rank_list(const std::string& name, const std::string& text, int least) {
  std::set<int> ranks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = std::string_view{text}.substr(begin, end - begin);
    const std::size_t dots = item.find("..");
    const auto first = number_of(item.substr(0, dots), least);
    const auto last =
        dots == std::string_view::npos ? first : number_of(item.substr(dots + 2), least);
    if (!first || !last || *last < *first)
      throw UsageError(fmt::format(
          "{}: expected numbers from {} to {} such as 8, 2..16 or 2,4,8..10, got \"{}\"", name,
          least, kMostRanksListed, text));
    for (int n = *first; n <= *last; ++n) ranks.insert(n);
    begin = end + 1;
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace lockstep::cli
