#pragma once

#include <span>
#include <string_view>
#include <vector>

/// The words of tables, options and documentation, as `lockstep help WORD` explains them.
namespace lockstep::cli {

struct Word {
  std::string_view name;
  std::string_view text;           // one to three sentences
  std::string_view formula;        // empty: there is none
  std::string_view see_also;       // names of other words, separated by ", "
  std::string_view other_names{};  // synonyms of this word, separated by ", "
};

struct WordTopic {
  std::string_view name;
  std::span<const Word> words;
};

/// Columns and results, then concepts by area; each in an order to be read.
[[nodiscard]] const std::vector<WordTopic>& word_topics();

std::span<const Word> column_words();
std::span<const Word> result_words();
std::span<const Word> collective_words();
std::span<const Word> network_words();
std::span<const Word> training_words();
std::span<const Word> campaign_words();
std::span<const Word> tool_words();

/// The word of this name or other name, in any case, with "-" and "_" for spaces; as a key of JSON
/// and CSV also with a unit at its end ("busbw_Bps"). Null if none.
[[nodiscard]] const Word* find_word(std::string_view name);

}  // namespace lockstep::cli
