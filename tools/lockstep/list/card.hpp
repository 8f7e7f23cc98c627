#pragma once

#include <string>

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Everything about one device, cluster, model, scenario or stack: a row for every value of its
/// file, with its unit and source, after what is computed from them. `kind` is the name of the
/// list, such as "devices"; `name` may be an alias or an unambiguous beginning. Throws UsageError
/// for a kind without cards or an unknown name.
[[nodiscard]] Report list_card(const std::string& kind, const std::string& name);

}  // namespace lockstep::cli
