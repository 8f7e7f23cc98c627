#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/strategies/step/random_layouts.hpp"

/// What random_layouts() does not draw, each now and then on top of a layout.
namespace lockstep::test {

/// How many layouts have each feature, by its name.
using DrawnFeatures = std::map<std::string, int>;

/// The layout with what of the model and of the strategy is drawn and goes together: each is tried
/// by itself and left out where layout_problems() has something against it. `most_ranks`: replicas
/// are added up to so many.
[[nodiscard]] RandomLayout with_random_features(RandomLayout layout, std::mt19937_64& draw,
                                                int most_ranks, DrawnFeatures& drawn);

/// The names of all features that with_random_features() draws.
[[nodiscard]] std::vector<std::string> feature_names();

/// Replicas added to a layout, twice as many up to `most_ranks`.
[[nodiscard]] RandomLayout with_more_replicas(RandomLayout layout, int most_ranks);

}  // namespace lockstep::test
