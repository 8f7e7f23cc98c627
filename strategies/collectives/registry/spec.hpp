#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/registry/registry.hpp"

namespace lockstep {

/// An algorithm with arguments in its text form: `ring`, `parameter_server:shards=4`.
struct AlgorithmSpec {
  const CollectiveAlgorithm* algorithm = nullptr;
  AlgorithmArguments arguments;

  /// The text form, with arguments in alphabetical order.
  [[nodiscard]] std::string text() const;
};

struct SpecError {
  std::size_t position = 0;  // of the invalid item, in characters from 0
  std::string message;
};

struct ParsedSpecs {
  std::vector<AlgorithmSpec> specs;  // the valid ones
  std::vector<SpecError> errors;     // all of them
};

/// Parses a comma-separated list of specs. Parameters are also separated by commas: an item with
/// '=' and no ':' before it belongs to the preceding spec, as in `parameter_server:shards=4,ring`.
/// Algorithm and parameter names are checked; ranges that depend on the number of ranks are left to
/// validate().
[[nodiscard]] ParsedSpecs parse_specs(std::string_view text, Collective collective);
/// Parses a spec that is the value of a parameter, such as `inner`. Its own parameters are
/// separated by colons: `torus:dims=4x2:copies=1`.
[[nodiscard]] ParsedSpecs parse_inner_spec(std::string_view text, Collective collective);

}  // namespace lockstep
