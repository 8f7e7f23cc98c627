#include "strategies/scenario/parallel/pipeline_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace lockstep {

namespace {

constexpr std::size_t kMostLetters = 100'000;

/// Writes a layout out, without repetitions.
class Expansion {
 public:
  explicit Expansion(std::string_view text) : text_{text} {}

  [[nodiscard]] std::string run() {
    std::string out = sequence();
    if (problem_.empty() && at_ < text_.size()) problem_ = "a parenthesis closes what none opened";
    return out;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  [[nodiscard]] bool more() const { return problem_.empty() && at_ < text_.size(); }

  [[nodiscard]] std::string sequence() {
    std::string out;
    while (more() && text_[at_] != ')') out += repeated(item());
    if (out.size() > kMostLetters) problem_ = fmt::format("more than {} letters", kMostLetters);
    return out;
  }

  [[nodiscard]] std::string item() {
    const char letter = text_[at_++];
    if (letter == ',' || letter == ' ') return {};
    if (letter == '(') {
      std::string group = sequence();
      if (problem_.empty() && at_ == text_.size()) problem_ = "a parenthesis is not closed";
      ++at_;
      return group;
    }
    if (std::string_view{"EtmL|"}.find(letter) == std::string_view::npos)
      problem_ = fmt::format("\"{}\" is none of E, t, m, L, |, parentheses and *N", letter);
    return {letter};
  }

  [[nodiscard]] std::string repeated(std::string item) {
    if (!more() || text_[at_] != '*') return item;
    int times = 0;
    const char* begin = text_.data() + at_ + 1;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), times);
    if (error != std::errc{} || times < 1) {
      problem_ = "* is followed by how often, a positive integer";
      return {};
    }
    at_ += 1 + static_cast<std::size_t>(end - begin);
    if (item.size() * static_cast<std::size_t>(times) > kMostLetters) {
      problem_ = fmt::format("more than {} letters", kMostLetters);
      return {};
    }
    std::string out;
    for (int i = 0; i < times; ++i) out += item;
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

}  // namespace

std::variant<PipelineLayout, std::string> read_pipeline_layout(std::string_view text) {
  Expansion expansion{text};
  std::string chunks = expansion.run();
  if (!expansion.problem().empty()) return expansion.problem();
  if (std::count(chunks.begin(), chunks.end(), 'E') != 1 || chunks.front() != 'E')
    return "the embedding, E, stands once, at the beginning of the first chunk";
  if (std::count(chunks.begin(), chunks.end(), 'L') != 1 || chunks.back() != 'L')
    return "the loss, L, stands once, at the end of the last chunk";
  PipelineLayout out{.layers = {0}};
  for (const char letter : chunks) {
    const bool after_prediction = letter == 't' || letter == '|';
    if (out.predictions > 0 && after_prediction)
      return "m: layers of multi-token prediction stand right before the loss, L";
    if (letter == '|') out.layers.push_back(0);
    if (letter == 't') ++out.layers.back();
    if (letter == 'm') ++out.predictions;
  }
  return out;
}

}  // namespace lockstep
