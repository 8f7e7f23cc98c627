#pragma once

#include <string>
#include <string_view>

#include "strategies/interop/nccl_tests/nccl_tests_words.hpp"

/// Cleans log lines: removes what launchers, terminals and log collectors add.
namespace lockstep {

/// A line without color escape sequences and text overwritten after a carriage return. `kept` owns
/// the text if it had to be changed.
[[nodiscard]] std::string_view plain_line(std::string_view line, std::string& kept);

/// The words of a line after log prefixes: "[1,0]<stdout>:" of mpirun, "0: " of srun -l, "[0]" of
/// others, timestamps such as "2024-05-01T12:00:00.123456789Z", "node7:", "> ".
[[nodiscard]] std::vector<NcclWord> words_behind_prefixes(std::string_view line);

/// Whether a line is meant as a row of results: it starts with two numbers and a type, or has two
/// integers and at least four more words.
[[nodiscard]] bool looks_like_row(const std::vector<NcclWord>& words);

}  // namespace lockstep
