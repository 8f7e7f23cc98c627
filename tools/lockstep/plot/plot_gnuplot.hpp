#pragma once

#include <string>

namespace lockstep::cli {

/// What gnuplot writes to its standard output for this script, which goes in through a pipe: no
/// shell, no files. Throws Refusal where it is not installed or does not like the script.
[[nodiscard]] std::string run_gnuplot(const std::string& script);

/// Throws Refusal where gnuplot is not installed.
void require_gnuplot();

}  // namespace lockstep::cli
