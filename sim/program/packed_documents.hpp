#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep {

/// Lengths of documents, drawn in tokens.
struct DocumentDraw {
  enum class Kind : std::uint8_t {
    uniform,    // all integers from `shortest` to `longest`
    lognormal,  // of mean `mean`; its logarithm has the standard deviation `sigma`
  };
  Kind kind = Kind::uniform;
  std::int64_t shortest = 1;
  std::int64_t longest = 1;
  double mean = 1;
  double sigma = 1;
  std::uint64_t seed = 0;

  friend bool operator==(const DocumentDraw&, const DocumentDraw&) = default;
};

/// Documents that differ between the sequences of a step: listed or drawn.
struct PackedDocuments {
  /// Sequence i of the step has list i modulo their number; tokens of documents, in order and from
  /// the first again until the sequence is full.
  std::vector<std::vector<std::int64_t>> lists{};
  std::optional<DocumentDraw> drawn{};

  [[nodiscard]] bool any() const { return !lists.empty() || drawn.has_value(); }
  /// The documents of sequence `index` of a step, of `tokens` tokens; the last of drawn ones is cut
  /// where the sequence ends. Each sequence is drawn from a stream of its own.
  [[nodiscard]] std::vector<std::int64_t> of_sequence(std::int64_t index,
                                                      std::int64_t tokens) const;

  friend bool operator==(const PackedDocuments&, const PackedDocuments&) = default;
};

}  // namespace lockstep
