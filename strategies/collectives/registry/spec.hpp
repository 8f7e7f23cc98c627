#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strategies/collectives/registry/registry.hpp"

namespace lockstep {

/// An algorithm with arguments, as written: `ring`, `parameter_server:shards=4`.
struct AlgorithmSpec {
  const CollectiveAlgorithm* algorithm = nullptr;
  AlgorithmArguments arguments;

  /// Back to text, arguments in alphabetical order.
  [[nodiscard]] std::string text() const;
};

struct SpecError {
  std::size_t position = 0;  // of the offending item, counted in characters from 0
  std::string message;
};

struct ParsedSpecs {
  std::vector<AlgorithmSpec> specs;  // those without a mistake
  std::vector<SpecError> errors;     // all of them
};

/// Reads a list of specs separated by commas. Parameters are separated by commas too: an item with
/// '=' and no ':' before that belongs to the spec before it, as in
/// `parameter_server:shards=4,ring`. Names and parameter names are checked against the table;
/// ranges that depend on the number of ranks are left to validate().
[[nodiscard]] ParsedSpecs parse_specs(std::string_view text, Collective collective);
/// Reads the one spec that is the value of another's parameter, such as `inner`. Its own parameters
/// are separated by colons: `torus:dims=4x2:copies=1`.
[[nodiscard]] ParsedSpecs parse_inner_spec(std::string_view text, Collective collective);

}  // namespace lockstep
