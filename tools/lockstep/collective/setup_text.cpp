#include "tools/lockstep/collective/setup_text.hpp"

#include <fmt/format.h>

namespace lockstep::cli {

std::string setup_text(const SetupNames& names) {
  return fmt::format("{} ({}), network {}, routes {}{}", names.cluster, names.device, names.network,
                     names.routes, names.protocol.empty() ? "" : ", protocol " + names.protocol);
}

std::string setup_text_with_ranks(const SetupNames& names) {
  return fmt::format("{} rank{} on {}", names.ranks, names.ranks == 1 ? "" : "s",
                     setup_text(names));
}

}  // namespace lockstep::cli
