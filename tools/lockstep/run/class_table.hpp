#pragma once

#include "tools/lockstep/run/run_tables.hpp"

namespace lockstep::cli {

/// The equivalence classes of ranks: how they differ, and when their times part and are the same
/// again, compared with the step without the changes of speeds, links and NICs, otherwise with the
/// largest class of the role.
[[nodiscard]] RunTable class_table(const TrainingStepResult& result);
/// Of two steps that are compared.
[[nodiscard]] std::vector<RunTable> class_tables(const TrainingStepResult& a,
                                                 const TrainingStepResult& b);

}  // namespace lockstep::cli
