#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/config/reader.hpp"
#include "topologies/devices/device.hpp"

namespace lockstep {

/// Reads parameters {"value": ..., "source": ...} and records their sources.
class FigureReader {
 public:
  explicit FigureReader(std::vector<FigureSource>& sources) : sources_{&sources} {}

  /// The parameter under `key`; `value_of(ValueReader)` reads its value.
  template <class Value>
  auto figure(ObjectReader& in, std::string_view key, Value value_of) {
    return in.object(key, [&](ObjectReader& one) {
      sources_->push_back({one.self().pointer(), one.string("source")});
      return value_of(one.required("value"));
    });
  }

  template <class Value>
  auto optional_figure(ObjectReader& in, std::string_view key, Value value_of) {
    using Result = decltype(figure(in, key, value_of));
    return in.optional(key) ? std::optional<Result>{figure(in, key, value_of)} : std::nullopt;
  }

 private:
  std::vector<FigureSource>* sources_;
};

}  // namespace lockstep
