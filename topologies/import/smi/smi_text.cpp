#include "topologies/import/smi/smi_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace lockstep {
namespace {

/// Behind "[4m" or "[0m", which is left of nvidia-smi's underlining where text was copied from a
/// terminal; else there.
std::size_t behind_copied_escape(std::string_view text, std::size_t at) {
  for (const std::string_view left : {"[4m", "[0m"})
    if (text.substr(at, left.size()) == left) return at + left.size();
  return at;
}

/// Behind an escape sequence (ECMA-48: ESC [ up to a letter) that begins there; else there.
std::size_t behind_escape(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\x1b[") return behind_copied_escape(text, at);
  at += 2;
  while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
  return std::min(at + 1, text.size());
}

/// Splits at tabs, or at blanks, of which a run counts as one.
SmiFields split(std::string_view text, std::size_t offset, bool tabs) {
  SmiFields fields;
  SmiField field;
  const auto end_field = [&] {
    while (!field.text.empty() && field.text.back() == ' ') field.text.pop_back();
    if (tabs || !field.text.empty()) fields.push_back(std::move(field));
    field = {};
  };
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t behind = behind_escape(text, i); behind != i) {
      i = behind;
      continue;
    }
    const bool blank = text[i] == ' ';
    if (text[i] == '\t' || (!tabs && blank)) {
      end_field();
    } else if (!blank || !field.text.empty()) {
      if (field.text.empty()) field.offset = offset + i;
      field.text += text[i];
    }
    ++i;
  }
  end_field();
  return fields;
}

/// "NV12".
std::optional<int> links_of(std::string_view text) {
  if (text.substr(0, 2) != "NV") return std::nullopt;
  int links = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), links);
  const bool good =
      error == std::errc{} && end == text.data() + text.size() && links >= 1 && links <= 1024;
  return good ? std::optional{links} : std::nullopt;
}

template <std::size_t kCount>
bool is_one_of(std::string_view text, const std::array<std::string_view, kCount>& words) {
  return std::ranges::find(words, text) != words.end();
}

}  // namespace

SmiFields SmiLine::fields() const {
  return split(text, offset, text.find('\t') != text.npos);
}

std::vector<SmiLine> smi_lines(std::string_view text) {
  std::vector<SmiLine> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back({begin, line});
    begin = end + 1;
  }
  return lines;
}

bool is_numbered(std::string_view text, std::string_view prefix) {
  return text.size() > prefix.size() && text.substr(0, prefix.size()) == prefix &&
         text.find_first_not_of("0123456789", prefix.size()) == text.npos;
}

std::vector<std::string> smi_heading(const SmiFields& fields) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string& text = fields[i].text;
    if (parse_smi_cell(text) || is_p2p_cell(text)) return {};  // it is a row
    if (i == 0 && text.empty()) continue;
    const std::string word = text.substr(0, text.find(' '));
    if (text.empty() || word == "CPU" || word == "NUMA" || word == "GPU") break;
    names.push_back(text);
  }
  const bool is_heading = !names.empty() && is_numbered(names.front(), "GPU");
  return is_heading ? names : std::vector<std::string>{};
}

std::optional<SmiCell> parse_smi_cell(std::string_view text) {
  static const std::map<std::string_view, SmiPath> kPaths{
      {"X", SmiPath::self},    {"PIX", SmiPath::pix}, {"PXB", SmiPath::pxb}, {"PHB", SmiPath::phb},
      {"NODE", SmiPath::node}, {"SYS", SmiPath::sys}, {"SOC", SmiPath::sys}};
  if (const auto links = links_of(text)) return SmiCell{SmiPath::nvlink, *links};
  const auto found = kPaths.find(text);
  if (found == kPaths.end()) return std::nullopt;
  return SmiCell{found->second, 0};
}

bool is_p2p_cell(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords{"OK", "CNS", "GNS", "TNS", "NS", "U"};
  return is_one_of(text, kWords);
}

bool is_smi_legend(const SmiFields& fields) {
  constexpr std::array<std::string_view, 2> kTitles{"Legend:", "NIC Legend:"};
  std::string words;
  for (const SmiField& field : fields) {
    if (!field.text.empty()) words += (words.empty() ? "" : " ") + field.text;
  }
  if (words.empty() || is_one_of(std::string_view{words}, kTitles)) return true;
  if (words.find("nvidia-smi topo") != words.npos) return true;
  const std::string_view key = std::string_view{words}.substr(0, words.find(' '));
  const bool named = parse_smi_cell(key) || is_p2p_cell(key) || key == "NV#";
  return named && std::string_view{words}.substr(key.size(), 3) == " = ";
}

}  // namespace lockstep
