#pragma once

#include <cstdint>

#include "tools/app/collective/collective_request.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/output.hpp"

namespace lockstep::cli {

/// Adds individual parameters of ranks to the configuration of a result, if there are any, and
/// which of them were drawn.
void add_rank_settings(const app::CollectiveRequest& request, const app::CollectiveSetup& setup,
                       app::Json& config);
/// Says which ranks were drawn, if any, with their values and the seed.
void add_drawn_ranks(const app::CollectiveRequest& request, const app::CollectiveSetup& setup,
                     Section& section);

/// The same of settings that are known already.
void add_rank_settings(const app::RankSettings& settings, app::Json& config);
void add_drawn_ranks(const app::RankSettings& settings, int ranks, std::uint64_t seed,
                     Section& section);

}  // namespace lockstep::cli
