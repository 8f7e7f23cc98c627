#include "sim/config/json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/config/json/json_syntax.hpp"
#include "sim/config/json/pointer.hpp"
#include "sim/config/json/text_cursor.hpp"

namespace lockstep {

namespace {

/// Reads a text and reports how many bytes have been read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* consumed) : at_{at}, consumed_{consumed} {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*consumed_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  std::size_t* consumed_;
};

/// A container that is not closed yet, and the key under which its parent will hold it.
struct OpenContainer {
  JsonValue value;
  std::string key;  // of the member being read, where this is an object
  Position key_at;
};

/// Builds the values from nlohmann's events. The parser reports how far it has read, not where a
/// token began; between the end of one token and the start of the next stands only white space,
/// a comma or a colon, so the start is found by passing over those.
class DocumentBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  DocumentBuilder(std::string_view text, std::string file, const JsonStream& stream)
      : text_{text}, stream_{stream}, cursor_{text}, problems_{std::move(file)} {}

  std::size_t* consumed() { return &consumed_; }
  [[nodiscard]] Problems& problems() { return problems_; }
  JsonValue take_root() { return std::move(root_); }

  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return number(std::int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<std::uint64_t>(INT64_MAX))
      return number(static_cast<std::int64_t>(value));
    return number(JsonNumber{static_cast<double>(value), std::to_string(value), true});
  }
  bool number_float(number_float_t value, const string_t& written) override {
    const bool digits_alone = written.find_first_of(".eE") == written.npos;
    return number(JsonNumber{value, written, digits_alone});
  }
  bool string(string_t& value) override {
    cursor_.skip_between_tokens();
    if (text_[cursor_.offset()] == '"') return scalar(std::move(value));
    return no_finite_number(text_.substr(cursor_.offset(), value.size() + 2));
  }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON text has none

  bool start_object(std::size_t /*size*/) override { return open(JsonObject{}); }
  bool start_array(std::size_t /*size*/) override { return open(JsonArray{}); }
  bool end_object() override {
    refuse_duplicates(std::get<JsonObject>(open_.back().value.data));
    return close();
  }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    open_.back().key_at = start_of_token();
    if (value.size() > kLongestKey) {
      problems_.note(open_.back().key_at, "",
                     fmt::format("a key of more than {} bytes", kLongestKey));
      return false;
    }
    open_.back().key = std::move(value);
    token_ends_at(consumed_);
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& fault) override {
    const SyntaxFault plain = describe_syntax_fault(fault.what(), text_, consumed_, cursor_);
    problems_.note(plain.at, "", plain.message);
    return false;
  }

 private:
  Position start_of_token() {
    cursor_.skip_between_tokens();
    return cursor_.position();
  }
  void token_ends_at(std::size_t offset) { cursor_.advance_to(offset); }

  template <class T>
  bool scalar(T&& data) {
    JsonValue value{start_of_token(), std::forward<T>(data)};
    token_ends_at(consumed_);
    return attach(std::move(value));
  }

  /// The parser has read one byte beyond a number, so its end is found in the text.
  template <class T>
  bool number(T&& data) {
    JsonValue value{start_of_token(), std::forward<T>(data)};
    const std::size_t end = text_.find_first_not_of("+-.0123456789eE", cursor_.offset());
    token_ends_at(std::min(end, text_.size()));
    return attach(std::move(value));
  }

  /// One that stood instead of a text for the parser.
  bool no_finite_number(std::string_view written) {
    const double value = written == "NaN"        ? std::numeric_limits<double>::quiet_NaN()
                         : written == "Infinity" ? std::numeric_limits<double>::infinity()
                                                 : -std::numeric_limits<double>::infinity();
    return scalar(JsonNumber{value, std::string{written}, false});
  }

  template <class Container>
  bool open(Container&& container) {
    const Position at = start_of_token();
    token_ends_at(consumed_);
    if (open_.size() == kDeepestJson) {
      problems_.note(at, "", fmt::format("nested deeper than {} levels", kDeepestJson));
      return false;
    }
    open_.push_back({JsonValue{at, std::forward<Container>(container)}, {}, {}});
    return true;
  }

  bool close() {
    token_ends_at(consumed_);
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return attach(std::move(value));
  }

  bool attach(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (in_stream()) {
      stream_.take(value, streamed_++);
    } else if (auto* array = std::get_if<JsonArray>(&open_.back().value.data)) {
      array->push_back(std::move(value));
    } else {
      OpenContainer& parent = open_.back();
      std::get<JsonObject>(parent.value.data)
          .push_back({std::move(parent.key), parent.key_at, std::move(value)});
    }
    return true;
  }

  /// Whether what has just ended is an element of the list that is handed over.
  [[nodiscard]] bool in_stream() const { return open_.size() == 2 && is_streamed(1); }

  /// Of the open containers the second, if any, where it is an array under the stream's key.
  [[nodiscard]] bool is_streamed(std::size_t depth) const {
    return depth == 1 && stream_.take && open_[1].value.get_if<JsonArray>() != nullptr &&
           open_[0].value.get_if<JsonObject>() != nullptr && open_[0].key == stream_.key;
  }

  /// Pointer of the innermost open container.
  std::string pointer_here() const {
    std::string out;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const auto* array = open_[i].value.get_if<JsonArray>();
      if (array == nullptr) {
        out = child_pointer(out, open_[i].key);
      } else {
        out = child_pointer(out, is_streamed(i) ? streamed_ : array->size());
      }
    }
    return out;
  }

  void refuse_duplicates(const JsonObject& object) {
    std::vector<const JsonMember*> sorted;
    sorted.reserve(object.size());
    for (const JsonMember& member : object) sorted.push_back(&member);
    const auto by_key = [](const JsonMember* a, const JsonMember* b) { return a->key < b->key; };
    std::stable_sort(sorted.begin(), sorted.end(), by_key);
    const JsonMember* first = nullptr;
    for (const JsonMember* member : sorted) {
      if (first == nullptr || first->key != member->key) {
        first = member;
      } else {
        note_duplicate(*member, first->key_at);
      }
    }
  }

  void note_duplicate(const JsonMember& member, Position first) {
    problems_.note(member.key_at, child_pointer(pointer_here(), member.key),
                   fmt::format("the key {} was given before, at line {}, column {}",
                               in_quotes(member.key), first.line, first.column));
  }

  std::string_view text_;
  const JsonStream& stream_;
  std::size_t streamed_ = 0;  // elements handed over
  TextCursor cursor_;         // behind the last token that has been dealt with
  std::size_t consumed_ = 0;
  Problems problems_;
  std::vector<OpenContainer> open_;
  JsonValue root_;
};

/// The end of the text in double quotes that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

/// Python's numbers that are none as texts of the same length, which the parser knows.
std::string without_infinity(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords{"-Infinity", "Infinity", "NaN"};
  std::string out{text};
  for (std::size_t at = 0; at < out.size();) {
    const auto* word = std::find_if(kWords.begin(), kWords.end(), [&](std::string_view each) {
      return text.substr(at, each.size()) == each;
    });
    if (word != kWords.end()) {
      out.replace(at, word->size(), '"' + std::string(word->size() - 2, 'x') + '"');
      at += word->size();
    } else {
      at = out[at] == '"' ? end_of_string(text, at) : at + 1;
    }
  }
  return out;
}

/// nlohmann takes a zero byte for the end of the text, so it must not get to see one.
void refuse_zero_bytes(std::string_view text, Problems& problems) {
  const std::size_t zero = text.find('\0');
  if (zero == text.npos) return;
  TextCursor cursor{text};
  cursor.advance_to(zero);
  problems.note(cursor.position(), "", "a zero byte: this is not a UTF-8 text");
  problems.throw_if_any();
}

}  // namespace

const JsonValue* find_member(const JsonObject& object, std::string_view key) {
  for (const JsonMember& member : object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

namespace {

JsonDocument parse(std::string_view text, std::string file, const JsonStream& stream,
                   JsonNumbers numbers) {
  DocumentBuilder builder{text, file, stream};
  if (text.size() > stream.largest) {
    builder.problems().note({}, "", fmt::format("larger than {} MiB", stream.largest >> 20U));
    builder.problems().throw_if_any();
  }
  refuse_zero_bytes(text, builder.problems());
  const std::string plain = numbers == JsonNumbers::python ? without_infinity(text) : std::string{};
  const std::string_view parsed = numbers == JsonNumbers::python ? plain : text;
  const CountingIterator begin{parsed.data(), builder.consumed()};
  const CountingIterator end{parsed.data() + parsed.size(), builder.consumed()};
  const bool whole = nlohmann::json::sax_parse(begin, end, &builder);
  builder.problems().throw_if_any();
  if (!whole) throw ConfigError{Problem{std::move(file), {}, "", "not understood as JSON"}};
  return {std::move(file), builder.take_root()};
}

}  // namespace

JsonDocument parse_json(std::string_view text, std::string file, JsonNumbers numbers) {
  return parse(text, std::move(file), JsonStream{}, numbers);
}

JsonDocument parse_json(std::string_view text, std::string file, const JsonStream& stream) {
  return parse(text, std::move(file), stream, JsonNumbers::finite);
}

}  // namespace lockstep
