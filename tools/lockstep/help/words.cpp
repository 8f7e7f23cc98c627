#include "tools/lockstep/help/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace lockstep::cli {

namespace {

std::string normalized(std::string_view name) {
  std::string out;
  for (const char c : name)
    out +=
        c == '_' || c == '-' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_called(const Word& word, const std::string& name) {
  if (normalized(word.name) == name) return true;
  for (std::string_view rest = word.other_names; !rest.empty();) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (normalized(rest.substr(0, end)) == name) return true;
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return false;
}

}  // namespace

const std::vector<WordTopic>& word_topics() {
  static const std::vector<WordTopic> kTopics = {
      {"columns", column_words()},         {"results", result_words()},
      {"collectives", collective_words()}, {"network", network_words()},
      {"training", training_words()},      {"campaigns", campaign_words()},
      {"simulation", tool_words()}};
  return kTopics;
}

namespace {

const Word* word_called(std::string_view name) {
  const std::string wanted = normalized(name);
  for (const WordTopic& topic : word_topics())
    for (const Word& word : topic.words)
      if (is_called(word, wanted)) return &word;
  return nullptr;
}

// At the ends of keys of JSON and CSV.
constexpr std::array<std::string_view, 8> kKeyEnds = {
    "_s", "_bytes", "_Bps", "_fraction", "_exponent", "_residual", "_class", "_growth"};

}  // namespace

const Word* find_word(std::string_view name) {
  if (const Word* word = word_called(name)) return word;
  for (const std::string_view end : kKeyEnds)
    if (name.ends_with(end))
      if (const Word* word = word_called(name.substr(0, name.size() - end.size()))) return word;
  return nullptr;
}

}  // namespace lockstep::cli
