#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/config/reader.hpp"
#include "topologies/devices/device.hpp"
#include "topologies/devices/provenance_key.hpp"

namespace lockstep {

/// Reads parameters {"value": ..., "source": ..., "provenance": ...} and records their sources; or
/// plain values, as in files that were measured as a whole.
class FigureReader {
 public:
  FigureReader() = default;  // of plain values
  explicit FigureReader(std::vector<FigureSource>& sources) : sources_{&sources} {}

  /// The parameter under `key`; `value_of(ValueReader)` reads its value.
  template <class Value>
  auto figure(ObjectReader& in, const Key& key, Value value_of) {
    return read(in.required(key), value_of);
  }

  template <class Value>
  auto optional_figure(ObjectReader& in, const Key& key, Value value_of) {
    const auto found = in.optional(key);
    using Result = decltype(read(*found, value_of));
    return found ? std::optional<Result>{read(*found, value_of)} : std::nullopt;
  }

  /// Reads it into `out`, which keeps its value if the parameter is absent and not required.
  template <class T, class Value>
  void take(ObjectReader& in, const Key& key, bool required, T& out, Value value_of) {
    if (required) {
      out = figure(in, key, value_of);
    } else if (auto found = optional_figure(in, key, value_of)) {
      out = *std::move(found);
    }
  }

 private:
  template <class Value>
  auto read(const ValueReader& at, Value value_of) {
    if (sources_ == nullptr) return value_of(at);
    return at.object([&](ObjectReader& one) {
      if (one.describes()) (void)one.required("value");  // stands first
      std::string source = one.string("source");
      sources_->push_back(
          {one.self().pointer(), std::move(source), optional_provenance(one, kProvenanceKey)});
      return value_of(one.required("value"));
    });
  }

  std::vector<FigureSource>* sources_ = nullptr;
};

}  // namespace lockstep
