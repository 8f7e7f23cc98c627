#include "strategies/interop/nccl_tests/nccl_tests_lines.hpp"

#include <algorithm>
#include <array>

namespace lockstep {

namespace {

constexpr char kEscape = '\x1b';

[[nodiscard]] bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Where an escape sequence (ECMA-48, section 5.4: CSI, parameters, a final byte) ends.
[[nodiscard]] std::size_t end_of_escape(std::string_view line, std::size_t at) {
  if (at + 1 >= line.size() || line[at + 1] != '[') return std::min(at + 2, line.size());
  for (at += 2; at < line.size(); ++at) {
    if (line[at] >= '@' && line[at] <= '~') return at + 1;
  }
  return at;
}

/// "2024-05-01", "12:00:00", both with a T between, with fractions and zones.
[[nodiscard]] bool is_time(std::string_view word) {
  if (word.size() < 8) return false;
  const auto follows = [&](std::string_view form, std::size_t at) {
    if (word.size() < at + form.size()) return false;
    for (std::size_t i = 0; i < form.size(); ++i) {
      if (form[i] == '9' ? !is_digit(word[at + i]) : word[at + i] != form[i]) return false;
    }
    return true;
  };
  const auto rest_is_time = [&](std::size_t at) {
    return word.find_first_not_of("0123456789.,:+-Z", at) == word.npos;
  };
  const bool date = follows("9999-99-99", 0) || follows("9999/99/99", 0);
  if (date && word.size() == 10) return true;
  if (date) return word[10] == 'T' && follows("99:99:99", 11) && rest_is_time(19);
  return follows("99:99:99", 0) && rest_is_time(8);
}

/// "[1,0]<stdout>:", "[1,0]<stderr>:", "[0]", "[node7]:".
[[nodiscard]] bool is_bracket(std::string_view word) {
  if (word.front() != '[') return false;
  const std::size_t close = word.find(']');
  if (close == word.npos) return false;
  const std::string_view behind = word.substr(close + 1);
  constexpr std::array<std::string_view, 6> kEnds{
      "", ":", "<stdout>:", "<stderr>:", "<stdout>", "<stderr>"};
  return std::find(kEnds.begin(), kEnds.end(), behind) != kEnds.end();
}

/// "0:" of srun -l.
[[nodiscard]] bool is_label(std::string_view word) {
  return word.size() > 1 && word.back() == ':' &&
         std::all_of(word.begin(), word.end() - 1, is_digit);
}

/// What mpirun puts at the very start of a line, with no blank behind.
[[nodiscard]] std::size_t behind_tag(std::string_view line) {
  if (line.empty() || line.front() != '[') return 0;
  const std::size_t at = line.find_first_not_of("0123456789,", 1);
  for (const std::string_view end : {"]<stdout>:", "]<stderr>:"}) {
    if (at != line.npos && line.substr(at, end.size()) == end) return at + end.size();
  }
  return 0;
}

/// A word without the brackets around it or around several: "[2024-05-01 12:00:00]".
[[nodiscard]] std::string_view within_brackets(std::string_view word) {
  if (word.size() > 1 && word.front() == '[') word.remove_prefix(1);
  if (word.size() > 1 && word.back() == ':') word.remove_suffix(1);
  if (word.size() > 1 && word.back() == ']') word.remove_suffix(1);
  return word;
}

/// "INFO", "[info]", "WARNING:" behind a time.
[[nodiscard]] bool is_level(std::string_view word) {
  constexpr std::array<std::string_view, 8> kLevels{"DEBUG", "INFO", "WARNING", "ERROR",
                                                    "debug", "info", "warning", "error"};
  return std::find(kLevels.begin(), kLevels.end(), within_brackets(word)) != kLevels.end();
}

/// "May  1 12:00:00" of syslog and ts; where "host" or "host program[123]:" follows, that too.
[[nodiscard]] std::size_t syslog_words(const std::vector<NcclWord>& words, std::size_t at) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const bool dated = at + 2 < words.size() &&
                     std::find(kMonths.begin(), kMonths.end(), words[at].text) != kMonths.end() &&
                     words[at + 1].text.size() <= 2 && is_digit(words[at + 1].text.front()) &&
                     is_time(words[at + 2].text);
  if (!dated) return 0;
  const bool named = at + 4 < words.size() && words[at + 4].text.ends_with("]:");
  return named ? 5 : 3;
}

/// How many words of a prefix begin there.
[[nodiscard]] std::size_t prefix_words(const std::vector<NcclWord>& words, std::size_t at) {
  const std::string_view word = words[at].text;
  if (is_bracket(word) || is_label(word)) return 1;
  if (const std::size_t dated = syslog_words(words, at); dated > 0) return dated;
  if (at > 0 && is_level(word) && is_time(within_brackets(words[at - 1].text))) return 1;
  if (!is_time(within_brackets(word))) return 0;
  // "stdout F" behind a time: the form of Kubernetes' container logs.
  const bool stream = at + 2 < words.size() &&
                      (words[at + 1].text == "stdout" || words[at + 1].text == "stderr") &&
                      words[at + 2].text.size() == 1;
  return stream ? 3 : 1;
}

/// "node7:", "worker-0 |" and ">" before what is known.
[[nodiscard]] std::size_t name_words(const std::vector<NcclWord>& words) {
  std::size_t out = 0;
  if (words.size() > 1 && (words[0].text.back() == ':' || words[0].text == ">")) out = 1;
  if (words.size() > 2 && words[1].text == "|") out = 2;
  if (out == 0) return 0;
  const std::vector<NcclWord> rest{words.begin() + static_cast<std::ptrdiff_t>(out), words.end()};
  return rest.front().text.front() == '#' || looks_like_row(rest) ? out : 0;
}

constexpr std::array<std::string_view, 24> kTypes{
    "int8",     "char",     "uint8",  "int32",   "int",    "uint32",  "int64",    "uint64",
    "half",     "float16",  "float",  "float32", "double", "float64", "bfloat16", "bf16",
    "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2",  "float8", "fp16",    "fp32",     "bfloat8"};

}  // namespace

std::string_view plain_line(std::string_view line, std::string& kept) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t overwritten = line.rfind('\r');
  const bool escapes = line.find(kEscape) != line.npos;
  if (overwritten == line.npos && !escapes) return line;
  if (overwritten != line.npos) line.remove_prefix(overwritten + 1);
  kept.clear();
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == kEscape) {
      at = end_of_escape(line, at);
    } else {
      kept += line[at++];
    }
  }
  return kept;
}

std::vector<NcclWord> words_behind_prefixes(std::string_view line) {
  std::vector<NcclWord> words = words_of(line, behind_tag(line));
  std::size_t first = 0;
  while (first < words.size()) {
    NcclWord& word = words[first];  // "[1,0]<stdout>:#" behind the time of a log collector
    if (const std::size_t tag = behind_tag(word.text); 0 < tag && tag < word.text.size()) {
      word.text.remove_prefix(tag);
      word.offset += tag;
      continue;
    }
    const std::size_t more = prefix_words(words, first);
    if (more == 0) break;
    first += more;
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first));
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(name_words(words)));
  return words;
}

bool looks_like_row(const std::vector<NcclWord>& words) {
  if (words.size() < 3) return false;
  const bool typed = std::find(kTypes.begin(), kTypes.end(), words[2].text) != kTypes.end();
  const auto begins_as_number = [](std::string_view word) {
    return is_digit(word.front()) || (word.size() > 1 && word.front() == '-' && is_digit(word[1]));
  };
  if (typed) return begins_as_number(words[0].text) || begins_as_number(words[1].text);
  return words.size() >= 6 && whole_number(words[0].text) && whole_number(words[1].text);
}

}  // namespace lockstep
