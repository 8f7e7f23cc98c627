#include "tools/app/sensitivity/spreads.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/config/reader.hpp"

namespace lockstep::app {

namespace {

constexpr double kLeastSpread = 1e-4;
constexpr double kMostSpread = 0.99;
constexpr std::int64_t kMostRows = 1'000'000'000;

std::vector<std::string> texts(ObjectReader& in, const Key& key) {
  std::vector<std::string> out;
  if (const auto at = in.optional(key))
    at->array([&out](const ValueReader& one) { out.push_back(one.string()); }, 1);
  return out;
}

FigureSpread read_spread(ObjectReader& in) {
  FigureSpread out;
  out.figure = in.string({"figure", "Name of a parameter, such as \"matmul rate\""});
  out.kernels = texts(in, {"kernels", "Kernel parameters of the devices it is of (default: all)"});
  out.precisions = texts(in, {"precisions", "Precisions of the GEMMs it is of (default: all)"});
  out.spread = in.number({"spread", "Relative, to both sides"}, kLeastSpread, kMostSpread);
  out.rows = in.integer({"rows", "Measurements it comes from"}, 1, kMostRows);
  (void)in.string("source");
  return out;
}

std::vector<FigureSpread> read_spread_file(ObjectReader& in) {
  (void)in.string("source");
  std::vector<FigureSpread> out;
  in.array(
      {"spreads", "The first that matches a parameter holds"},
      [&out](const ValueReader& one) {
        one.object([&out](ObjectReader& row) { out.push_back(read_spread(row)); });
      },
      1);
  return out;
}

bool allows(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

}  // namespace

JsonValue spreads_schema() {
  return schema_of("spreads",
                   "Uncertainty of parameters that the time of a training step depends on, for "
                   "`lockstep sensitivity`.",
                   read_spread_file);
}

std::vector<FigureSpread> load_spreads(const std::filesystem::path& path) {
  return read_spreads(read_json(path));
}

std::vector<FigureSpread> read_spreads(const JsonDocument& document) {
  return read_document(document, read_spread_file);
}

const FigureSpread* spread_of(const std::vector<FigureSpread>& spreads, const std::string& figure,
                              const std::string& kernels, const std::string& precision) {
  const auto found = std::ranges::find_if(spreads, [&](const FigureSpread& each) {
    return each.figure == figure && allows(each.kernels, kernels) &&
           allows(each.precisions, precision);
  });
  return found == spreads.end() ? nullptr : &*found;
}

}  // namespace lockstep::app
