#pragma once

#include "sim/config/reader.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/output/app.hpp"

/// One function per kind of request of the page that teaches; each reads the keys of its request.
namespace lockstep::cli {

/// Computes the answer when the request has no problems.
using LaterAnswer = std::function<Json()>;

/// Collectives with their algorithms, pipeline schedules, clusters of chosen links.
[[nodiscard]] LaterAnswer read_catalog(ObjectReader& in);
/// One collective, message by message, with its cost and bounds.
[[nodiscard]] LaterAnswer read_film(ObjectReader& in);
/// Times of several algorithms at several sizes, and where the fastest changes.
[[nodiscard]] LaterAnswer read_sizes(ObjectReader& in);
/// Rounds, bytes and times over the number of ranks.
[[nodiscard]] LaterAnswer read_growth(ObjectReader& in);
/// A pipeline of equal stages with given times.
[[nodiscard]] LaterAnswer read_pipeline(ObjectReader& in);
/// A training step: time, breakdown and memory.
[[nodiscard]] LaterAnswer read_step(ObjectReader& in);

}  // namespace lockstep::cli
