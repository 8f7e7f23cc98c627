#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/packed_documents.hpp"

namespace lockstep {

/// Keys visible to a query of causal attention, among those up to its own.
struct VisibleKeys {
  std::int64_t window = 0;  // number of visible keys, including its own; 0: all
  bool chunked = false;     // chunked attention instead of a sliding window
  /// Tokens of the documents packed into a sequence, in order and from the first again until it is
  /// full; keys of other documents are not visible. Empty: the sequence is one document.
  std::vector<std::int64_t> documents{};
  /// Instead of `documents`, where sequences differ: of_sequence() resolves them.
  PackedDocuments packed{};

  /// What a query of sequence `index` of the step sees.
  [[nodiscard]] VisibleKeys of_sequence(std::int64_t index, std::int64_t tokens) const;
  [[nodiscard]] bool sees(std::int64_t query, std::int64_t key) const {
    if (key > query || (!documents.empty() && key < document_begin(query))) return false;
    if (window == 0) return true;
    return chunked ? key / window == query / window : query - key < window;
  }
  /// First token of the document of a token.
  [[nodiscard]] std::int64_t document_begin(std::int64_t token) const;
  /// Whether some queries of a sequence do not see all earlier keys.
  [[nodiscard]] bool limits(std::int64_t sequence) const {
    return (window > 0 && window < sequence) || packed.any() ||
           (!documents.empty() && documents.front() < sequence);
  }

  friend bool operator==(const VisibleKeys&, const VisibleKeys&) = default;
};

/// Pairs of a query and a visible key of the first `tokens` tokens of a document that begins at
/// `begin`.
[[nodiscard]] double pairs_in_document(const VisibleKeys& visible, std::int64_t begin,
                                       std::int64_t tokens);

/// Pairs of a query and a visible key of the first `queries` queries of a sequence, counted one by
/// one.
[[nodiscard]] double limited_pairs(const VisibleKeys& visible, std::int64_t queries);

/// Pairs of the part of a causal sequence that has most of them, of `parts` equal ones: of zigzag
/// parts, equal without a window, or of plain ones, of which it is the last.
[[nodiscard]] double most_pairs(const VisibleKeys& visible, std::int64_t sequence,
                                std::int64_t parts, bool zigzag);

/// Pairs of a query and a visible key in one causal sequence. Without a window or documents, half
/// of the square; with them, the sum over queries, capped at that half (a window close to the
/// sequence length would exceed it by half a diagonal).
[[nodiscard]] double visible_pairs(const VisibleKeys& visible, std::int64_t sequence);

/// The same of the mean sequence of a step of so many.
[[nodiscard]] double mean_pairs(const VisibleKeys& visible, std::int64_t sequence,
                                std::int64_t count);

/// Keys visible to the query of a sequence that sees most of them.
[[nodiscard]] std::int64_t most_visible(const VisibleKeys& visible, std::int64_t sequence);

/// Blocks of at most `block` queries of one document each, in the first `queries` queries.
[[nodiscard]] std::int64_t query_blocks(const VisibleKeys& visible, std::int64_t queries,
                                        std::int64_t block);

}  // namespace lockstep
