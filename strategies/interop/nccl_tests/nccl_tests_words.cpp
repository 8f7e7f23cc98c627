#include "strategies/interop/nccl_tests/nccl_tests_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace lockstep {

namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr double kMostMicroseconds = 9.2e12;  // 106 days
constexpr std::string_view kEnding = "_perf";

}  // namespace

std::vector<NcclWord> words_of(std::string_view line, std::size_t from) {
  std::vector<NcclWord> out;
  for (std::size_t begin = line.find_first_not_of(kBlanks, from); begin != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    out.push_back({line.substr(begin, end - begin), begin});
    begin = line.find_first_not_of(kBlanks, end);
  }
  return out;
}

std::uint32_t column_of(std::string_view line, std::size_t offset) {
  const std::string_view before = line.substr(0, offset);
  const auto points = std::count_if(before.begin(), before.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  });
  return static_cast<std::uint32_t>(points) + 1;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> real_number(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_not_of("+-.0123456789eE") == text.npos;
  if (!plain) return std::nullopt;  // neither "nan" nor "0x1p3", which strtod reads too
  const std::string copy{text};
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Duration> from_microseconds(double microseconds) {
  if (!(microseconds >= 0) || microseconds > kMostMicroseconds) return std::nullopt;
  return Duration::picoseconds(std::llround(microseconds * 1e6));
}

std::optional<std::string> collective_of(std::string_view program) {
  program.remove_prefix(std::min(program.rfind('/') + 1, program.size()));
  if (program.size() <= kEnding.size() ||
      program.substr(program.size() - kEnding.size()) != kEnding)
    return std::nullopt;
  program.remove_suffix(kEnding.size());
  if (program == "alltoall") return "all_to_all";
  if (program == "sendrecv") return "send_recv";
  return std::string{program};
}

}  // namespace lockstep
