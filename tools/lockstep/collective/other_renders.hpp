#pragma once

#include <string>

#include "tools/app/collective/against.hpp"
#include "tools/app/collective/concurrent.hpp"
#include "tools/app/collective/crossover.hpp"
#include "tools/lockstep/output/output.hpp"

/// Output of the other modes of `lockstep collective`.
namespace lockstep::cli {

[[nodiscard]] Report report_of(const CollectiveRequest& request, const CrossoverReport& done);

/// Measured and simulated times; `file` is the input.
[[nodiscard]] Report report_of(const AgainstReport& done, const std::string& file);

/// Times alone and concurrent; `file` is the input. `classes`: also the equivalence classes of
/// ranks.
[[nodiscard]] Report report_of(const CollectiveRequest& request, const ConcurrentReport& done,
                               const std::string& file, bool classes);

}  // namespace lockstep::cli
