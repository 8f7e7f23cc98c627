#pragma once

#include <string>

#include "tools/app/collective/setup/collective_setup.hpp"
#include "tools/lockstep/output/app.hpp"

namespace lockstep::cli {

/// "dgx-h100 (h100-sxm5-80gb), network fluid, routes auto".
[[nodiscard]] std::string setup_text(const SetupNames& names);
/// The same with its ranks: "32 ranks on dgx-h100 (h100-sxm5-80gb), network fluid, routes auto".
[[nodiscard]] std::string setup_text_with_ranks(const SetupNames& names);

}  // namespace lockstep::cli
