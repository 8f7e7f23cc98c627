#pragma once

#include <string>
#include <string_view>

#include "strategies/interop/nccl_tests/nccl_tests_words.hpp"

/// Lines of a log as people paste it: what launchers, terminals and log collectors add to them.
namespace lockstep {

/// A line without escape sequences of colours and without what a carriage return has overwritten.
/// `kept` holds the text where it had to be changed.
[[nodiscard]] std::string_view plain_line(std::string_view line, std::string& kept);

/// The words of a line behind what stands before it in a log: "[1,0]<stdout>:" of mpirun, "0: " of
/// srun -l, "[0]" of others, times of day as in "2024-05-01T12:00:00.123456789Z", "node7:", "> ".
[[nodiscard]] std::vector<NcclWord> words_behind_prefixes(std::string_view line);

/// Whether a line is meant as a row of results: two numbers and a type, or two whole numbers and
/// four words more.
[[nodiscard]] bool looks_like_row(const std::vector<NcclWord>& words);

}  // namespace lockstep
