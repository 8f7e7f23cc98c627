#pragma once

#include <string>

#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// All about one device, cluster, model, scenario or stack: computed values, then every value of
/// its file with unit and source. `kind` is a list's name, such as "devices"; `name` may be an
/// alias or an unambiguous prefix, of a model also a file in Lockstep's or Hugging Face's format.
/// Throws UsageError for a kind without cards or an unknown name.
[[nodiscard]] Report list_card(const std::string& kind, const std::string& name);

}  // namespace lockstep::cli
