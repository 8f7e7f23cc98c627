#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

/// Operands of operations by name.
namespace lockstep {

/// A tensor by its role in an operation.
enum class Operand : std::uint8_t {
  a,
  b,
  bias,
  experts,
  gain,
  gate,
  gradient,
  k,
  labels,
  logits,
  loss,
  mask,
  maximum,
  o,
  parts,
  probabilities,
  q,
  results,
  scale,
  scores,
  shared,
  shift,
  sinks,
  slots,
  states,
  statistics,
  sum,
  table,
  target,
  tokens,
  v,
  weight,
  weights,
  x,
  y,
  zeros,
};

namespace operands {

inline constexpr std::array<std::string_view, 36> kNames{
    "a",       "b",          "bias",  "experts", "gain",    "gate",   "gradient", "k",
    "labels",  "logits",     "loss",  "mask",    "maximum", "o",      "parts",    "probabilities",
    "q",       "results",    "scale", "scores",  "shared",  "shift",  "sinks",    "slots",
    "states",  "statistics", "sum",   "table",   "target",  "tokens", "v",        "weight",
    "weights", "x",          "y",     "zeros"};
static_assert(kNames.size() == static_cast<std::size_t>(Operand::zeros) + 1);

/// This bit makes an operand the gradient of another.
inline constexpr std::uint8_t kGradient = 0x80;

}  // namespace operands

/// g_x: the gradient of x.
[[nodiscard]] constexpr Operand gradient_of(Operand of) {
  return static_cast<Operand>(static_cast<std::uint8_t>(of) | operands::kGradient);
}
[[nodiscard]] constexpr bool is_gradient(Operand of) {
  return (static_cast<std::uint8_t>(of) & operands::kGradient) != 0;
}
/// x of g_x.
[[nodiscard]] constexpr Operand without_gradient(Operand of) {
  return static_cast<Operand>(static_cast<std::uint8_t>(of) & ~operands::kGradient);
}
[[nodiscard]] std::string to_string(Operand operand);

/// What an operation reads, or what it writes, in order, written as "x gain [bias] g_y": g_y is the
/// gradient of y, brackets hold optional operands ("[o statistics | sinks]": either these or
/// those, distinguished by their number), the last may be any number of tensors ("states...").
class OperandList {
 public:
  static constexpr std::size_t kMost = 8;

  /// Compile-time error for unknown names and unbalanced brackets.
  consteval OperandList(const char* text) {  // NOLINT(google-explicit-constructor): a table's cell
    std::string_view rest{text};
    std::uint8_t alternative = 0;  // 0: outside brackets
    while (!rest.empty()) {
      const std::size_t length = rest.find_first_of(" []|");
      const std::string_view word = rest.substr(0, length);
      if (!word.empty()) add(word, alternative);
      const char mark = length == std::string_view::npos ? ' ' : rest[length];
      if (mark == '[') alternative = 1;
      if (mark == '|') ++alternative;
      if (mark == ']') alternative = 0;
      rest.remove_prefix(length == std::string_view::npos ? rest.size() : length + 1);
    }
    if (alternative != 0) throw std::invalid_argument{"a bracket is not closed"};
  }

  /// Whether an operation may have this number of tensors here.
  [[nodiscard]] constexpr bool takes(std::size_t tensors) const {
    return repeated_ ? tensors + 1 >= count_ : alternative_of(tensors).has_value();
  }
  /// Index of an operand among this number of tensors, of the first of a repeated one; none:
  /// absent.
  [[nodiscard]] constexpr std::optional<std::size_t> find(Operand operand,
                                                          std::size_t tensors) const {
    const std::uint8_t alternative = repeated_ ? 0 : alternative_of(tensors).value_or(0);
    std::size_t place = 0;
    for (std::size_t i = 0; i < count_ && place < tensors; ++i) {
      if (slots_[i].alternative != 0 && slots_[i].alternative != alternative) continue;
      if (slots_[i].operand == operand) return place;
      ++place;
    }
    return std::nullopt;
  }
  /// Whether this operand may be here.
  [[nodiscard]] constexpr bool has(Operand operand) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (slots_[i].operand == operand) return true;
    }
    return false;
  }
  /// Every operand that may be here, in order.
  [[nodiscard]] constexpr std::size_t size() const { return count_; }
  [[nodiscard]] constexpr Operand operator[](std::size_t i) const { return slots_[i].operand; }

 private:
  struct Slot {
    Operand operand = Operand::a;
    std::uint8_t alternative = 0;  // of those in brackets, from 1 on; 0: always there
  };

  constexpr void add(std::string_view word, std::uint8_t alternative) {
    const bool gradient = word.starts_with("g_");
    if (gradient) word.remove_prefix(2);
    repeated_ = word.ends_with("...");
    if (repeated_) word.remove_suffix(3);
    for (std::size_t i = 0; i < operands::kNames.size(); ++i) {
      if (operands::kNames[i] != word) continue;
      const auto operand = static_cast<Operand>(i);
      slots_.at(count_++) = {gradient ? gradient_of(operand) : operand, alternative};
      return;
    }
    throw std::invalid_argument{"no operand of this name"};
  }

  /// Which of the alternatives this number of tensors has; 0: none of them; none: it is none's.
  [[nodiscard]] constexpr std::optional<std::uint8_t> alternative_of(std::size_t tensors) const {
    for (std::uint8_t alternative = 0; alternative <= 2; ++alternative) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < count_; ++i) {
        count += slots_[i].alternative == 0 || slots_[i].alternative == alternative ? 1 : 0;
      }
      if (count == tensors) return alternative;
    }
    return std::nullopt;
  }

  std::array<Slot, kMost> slots_{};
  std::size_t count_ = 0;
  bool repeated_ = false;  // the last
};

}  // namespace lockstep
