#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strategies/interop/nccl_tests/nccl_tests.hpp"
#include "strategies/interop/nccl_tests/nccl_tests_words.hpp"

namespace lockstep {

/// The halves of a row, by its headings.
enum class NcclHalves : std::uint8_t { unknown, out_of_place, in_place, both };

/// Called with an invalid word and the reason.
using ComplainOfWord = std::function<void(const NcclWord&, std::string)>;

/// Reads `size count type [redop] [root]` and, once or twice, `time algbw busbw #wrong`. The number
/// of words determines which optional ones are present. Invalid words are reported.
[[nodiscard]] NcclRow read_nccl_row(const std::vector<NcclWord>& words, NcclHalves halves,
                                    const ComplainOfWord& complain);

}  // namespace lockstep
