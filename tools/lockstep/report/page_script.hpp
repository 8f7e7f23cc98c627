#pragma once

#include <string_view>

namespace lockstep::cli {

/// A script that tools/page/build.sh has built.
struct PageScript {
  std::string_view text;
  std::string_view hash;  // "sha256-...", as a content security policy names it
};

/// Interaction of reports: tools/page/dist/report.js.
[[nodiscard]] PageScript report_script();

}  // namespace lockstep::cli
