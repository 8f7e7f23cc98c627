#pragma once

#include <functional>
#include <string>
#include <vector>

#include "strategies/interop/nccl_tests/nccl_tests.hpp"
#include "strategies/interop/nccl_tests/nccl_tests_words.hpp"

namespace lockstep {

/// Which halves the headings say that a row has.
enum class NcclHalves : std::uint8_t { unknown, out_of_place, in_place, both };

/// Called with a word that is wrong, and why.
using ComplainOfWord = std::function<void(const NcclWord&, std::string)>;

/// Reads `size count type [redop] [root]` and, once or twice, `time algbw busbw #wrong`. Which of
/// the optional ones are there follows from the number of words. What is wrong is complained of.
[[nodiscard]] NcclRow read_nccl_row(const std::vector<NcclWord>& words, NcclHalves halves,
                                    const ComplainOfWord& complain);

}  // namespace lockstep
