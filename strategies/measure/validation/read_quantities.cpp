#include <cmath>

#include "strategies/measure/validation/measured_readers.hpp"

namespace lockstep {

namespace {

constexpr double kShortest = 1e-9;  // seconds
constexpr double kLongest = 9e6;    // seconds: 104 days
constexpr double kFastestLink = 1e15;
constexpr double kFastestDevice = 1e18;

}  // namespace

std::optional<Duration> optional_seconds(ObjectReader& in, const Key& key) {
  const auto seconds = in.optional_number(key, kShortest, kLongest);
  if (!seconds) return std::nullopt;
  return Duration::picoseconds(std::llround(*seconds * 1e12));
}

std::optional<Rate> optional_bandwidth(ObjectReader& in, const Key& key) {
  const auto rate = in.optional_number(key, 1, kFastestLink);
  if (!rate) return std::nullopt;
  return Rate::bytes_per_second(static_cast<std::uint64_t>(std::llround(*rate)));
}

std::optional<FlopRate> optional_flops(ObjectReader& in, const Key& key) {
  const auto rate = in.optional_number(key, 1, kFastestDevice);
  return rate ? std::optional{FlopRate{*rate}} : std::nullopt;
}

MeasuredOrigin read_origin(ObjectReader& in) {
  MeasuredOrigin origin;
  origin.id = in.string("id");
  origin.source = in.string({"source", "Citation"});
  origin.notes = in.optional_string("notes").value_or("");
  in.optional_array(
      {"assumed", "Fields that the source does not print"},
      [&origin](const ValueReader& field) { origin.assumed.push_back(field.string()); });
  return origin;
}

}  // namespace lockstep
