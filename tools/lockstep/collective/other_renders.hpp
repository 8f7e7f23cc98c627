#pragma once

#include <string>

#include "tools/app/collective/against.hpp"
#include "tools/app/collective/concurrent.hpp"
#include "tools/app/collective/crossover.hpp"
#include "tools/lockstep/output/output.hpp"

/// What `lockstep collective` prints in its other modes.
namespace lockstep::cli {

[[nodiscard]] Report report_of(const CollectiveRequest& request, const CrossoverReport& done);

/// Measured next to simulated; `file` is what was read.
[[nodiscard]] Report report_of(const AgainstReport& done, const std::string& file);

/// Times alone and together; `file` is what was read.
[[nodiscard]] Report report_of(const CollectiveRequest& request, const ConcurrentReport& done,
                               const std::string& file);

}  // namespace lockstep::cli
