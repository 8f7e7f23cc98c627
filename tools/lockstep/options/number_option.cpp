#include "tools/lockstep/options/number_option.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"

namespace lockstep::cli {

namespace {

std::optional<std::uint64_t> whole_number(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace

Option add_whole_number(const Command& command, const std::string& names, std::uint64_t least,
                        std::uint64_t most, std::function<void(std::uint64_t)> take,
                        const std::string& description) {
  const std::string name = names.substr(0, names.find(','));
  const auto read = [name, least, most, take = std::move(take)](const std::string& text) {
    const auto number = whole_number(text);
    if (!number || *number < least || *number > most)
      throw UsageError(fmt::format("{}: expected an integer from {} to {}, got \"{}\"", name, least,
                                   most, text));
    take(*number);
  };
  return command.add_option(names, read, description)->type_name("N");
}

}  // namespace lockstep::cli
