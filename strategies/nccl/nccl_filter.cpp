#include "strategies/nccl/nccl_filter.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/config/complaint.hpp"

namespace lockstep {
namespace {

constexpr std::array kChosen{Collective::all_reduce, Collective::all_gather,
                             Collective::reduce_scatter, Collective::broadcast, Collective::reduce};

/// A word of the text, without the spaces around it.
struct Word {
  std::string_view text;
  std::size_t position = 0;
};

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

Word trimmed(Word word) {
  while (!word.text.empty() && is_space(word.text.front())) {
    word.text.remove_prefix(1);
    ++word.position;
  }
  while (!word.text.empty() && is_space(word.text.back())) word.text.remove_suffix(1);
  return word;
}

std::vector<Word> split(Word whole, char separator) {
  std::vector<Word> words;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= whole.text.size(); ++i) {
    if (i < whole.text.size() && whole.text[i] != separator) continue;
    words.push_back(trimmed({whole.text.substr(start, i - start), whole.position + start}));
    start = i + 1;
  }
  return words;
}

/// AllReduce, all_reduce and allreduce are one name.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::string_view name_of(Collective collective) {
  return to_string(collective);
}
template <class Enum>
std::string_view name_of(Enum value) {
  return nccl_name(value);
}

template <class Value>
std::optional<Value> find(std::string_view text, const std::vector<Value>& values) {
  const auto same = [&](Value value) { return folded(name_of(value)) == folded(text); };
  const auto found = std::find_if(values.begin(), values.end(), same);
  return found == values.end() ? std::nullopt : std::optional{*found};
}

/// Reads one variable into one kind of wishes.
template <class Enum>
class Reader {
 public:
  using Wishes = NcclTable<Enum, NcclRestriction>;

  Reader(std::string_view variable, std::string_view noun, Wishes NcclFilter::*wishes,
         ParsedNcclFilters& out)
      : variable_{variable}, noun_{noun}, wishes_{wishes}, out_{out} {}

  void read(std::string_view text) {
    if (trimmed({text, 0}).text.empty()) return;
    for (const Word& entry : split({text, 0}, ';')) read_entry(entry);
  }

 private:
  void read_entry(Word entry) {
    const std::vector<Word> parts = split(entry, ':');
    if (parts.size() > 2) {
      complain(parts[2], "expected one ':' at most between two ';'");
      return;
    }
    std::vector<Collective> collectives{kChosen.begin(), kChosen.end()};
    if (parts.size() == 2) {
      const auto collective = read_name("collective that NCCL chooses for", parts[0], collectives);
      if (!collective) return;
      collectives = {*collective};
    }
    if (const auto wishes = read_list(parts.back())) {
      for (const Collective one : collectives) out_.filters[one].*wishes_ = *wishes;
    }
  }

  std::optional<Wishes> read_list(Word list) {
    const bool all_but = !list.text.empty() && list.text.front() == '^';
    if (all_but) list = trimmed({list.text.substr(1), list.position + 1});
    Wishes wishes;
    const NcclRestriction others = all_but ? NcclRestriction::by_default : NcclRestriction::refused;
    for (const Enum value : nccl_values<Enum>()) wishes[value] = others;
    bool good = true;
    for (const Word& word : split(list, ',')) {
      const auto value = read_name(noun_, word, every_value());
      good = good && value.has_value();
      if (value) wishes[*value] = all_but ? NcclRestriction::refused : NcclRestriction::wanted;
    }
    return good ? std::optional{wishes} : std::nullopt;
  }

  template <class Value>
  std::optional<Value> read_name(std::string_view noun, Word word,
                                 const std::vector<Value>& values) {
    const auto found = find(word.text, values);
    if (!found) complain(word, refusal(noun, word, values));
    return found;
  }

  template <class Value>
  static std::string refusal(std::string_view noun, Word word, const std::vector<Value>& values) {
    std::vector<std::string_view> names;
    names.reserve(values.size());
    for (const Value value : values) names.push_back(name_of(value));
    return complain_of_name(noun, word.text, names);
  }

  static std::vector<Enum> every_value() {
    const auto values = nccl_values<Enum>();
    return {values.begin(), values.end()};
  }

  void complain(Word word, std::string message) {
    out_.errors.push_back({std::string{variable_}, word.position, std::move(message)});
  }

  std::string_view variable_;
  std::string_view noun_;
  Wishes NcclFilter::*wishes_;
  ParsedNcclFilters& out_;
};

}  // namespace

bool nccl_chooses(Collective collective) {
  return std::find(kChosen.begin(), kChosen.end(), collective) != kChosen.end();
}

ParsedNcclFilters parse_nccl_filters(std::string_view algorithms, std::string_view protocols) {
  ParsedNcclFilters out;
  Reader<NcclAlgorithm>{"NCCL_ALGO", "algorithm of NCCL", &NcclFilter::algorithms, out}.read(
      algorithms);
  Reader<NcclProtocol>{"NCCL_PROTO", "protocol of NCCL", &NcclFilter::protocols, out}.read(
      protocols);
  return out;
}

}  // namespace lockstep
