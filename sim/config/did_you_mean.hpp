#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace lockstep {

/// The candidate most likely meant by `word`: the one with the smallest edit distance (insert,
/// delete, replace, transpose; case weighs little), if it is at most a third of the word's length;
/// else the only candidate with this prefix; else the only one that is a prefix of the word ("seq"
/// for "sequence"). The first on ties. Empty if nothing is near or the word is a candidate itself.
[[nodiscard]] std::optional<std::string_view> did_you_mean(
    std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace lockstep
