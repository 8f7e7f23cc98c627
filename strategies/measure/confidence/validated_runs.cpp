#include "strategies/measure/confidence/validated_runs.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/math.hpp"
#include "sim/config/reader.hpp"

namespace lockstep {

namespace {

constexpr std::int64_t kMost = 1'000'000'000;
constexpr double kMostParameters = 1e18;
constexpr double kMostGbps = 1e9;
constexpr double kMostError = 1e6;

int count(ObjectReader& in, const Key& key) {
  return static_cast<int>(in.integer(key, 1, kMost));
}

RunKind read_kind(ObjectReader& in) {
  RunKind out;
  out.stack = in.string("stack");
  out.gpu = in.string("gpu");
  out.model = in.string("model");
  out.precision = in.string("precision");
  out.recompute = in.string("recompute");
  out.parameters = in.number("parameters", 1, kMostParameters);
  out.sequence = in.integer("sequence_tokens", 1, kMost);
  out.micro_batch = in.integer("micro_batch", 1, kMost);
  out.gpus = count(in, "gpus");
  out.nodes = count(in, "nodes");
  out.gpus_per_node =
      static_cast<int>(in.integer({"gpus_per_node", "That the run uses (default: gpus / nodes)"}, 1,
                                  kMost, ceil_div(out.gpus, std::max(1, out.nodes))));
  out.nic_gbps_per_gpu =
      in.number({"nic_gbps_per_gpu", "Of a node's NICs by its GPUs (default: 0, no NICs)"}, 0,
                kMostGbps, 0.0);
  out.tp = count(in, "tp");
  out.pp = count(in, "pp");
  out.cp = count(in, "cp");
  out.ep = count(in, "ep");
  out.dp = count(in, "dp");
  out.zero = static_cast<int>(in.integer("zero", 0, 3));
  out.tp_across_nodes = in.boolean("tp_across_nodes");
  in.optional_array({"features", "What only some runs have: a property and its value"},
                    [&out](const ValueReader& one) {
                      one.object([&out](ObjectReader& feature) {
                        std::string property = feature.string("property");
                        out.features.emplace(std::move(property), feature.string("value"));
                      });
                    });
  return out;
}

/// All of a file.
struct Residuals {
  ValidatedRuns checked{};
  std::vector<double> memory_errors{};
};

void read_memory(ObjectReader& in, Residuals& out) {
  const auto at =
      in.optional({"peak_memory", "Errors of the simulated peak memory of measured runs"});
  if (!at) return;
  at->array([&out](const ValueReader& one) {
    one.object([&out](ObjectReader& row) {
      (void)row.string("group");
      out.memory_errors.push_back(
          row.number({"error", "Simulated over measured, less one"}, -0.999, kMostError));
    });
  });
}

IntervalWidth read_width(ObjectReader& in) {
  constexpr double kWidest = 1e6;
  IntervalWidth out;
  out.inside = in.number({"inside", "To contain 80 % of the runs of a new group"}, 0, kWidest);
  out.outside = in.number(
      {"outside",
       "For runs outside the validated domain: contains 95 % of the runs of groups left out"},
      0, kWidest);
  if (out.outside < out.inside) in.note("\"outside\" is narrower than \"inside\"");
  return out;
}

Residuals read_residual_file(ObjectReader& in) {
  (void)in.string("source");
  Residuals out;
  if (const auto width = in.optional(
          {"interval_width",
           "Half the width of the prediction interval, in spreads of the nearest runs' errors "
           "(default: 1 inside, 2 outside)"}))
    out.checked.width = width->object(read_width);
  in.array(
      "runs",
      [&out](const ValueReader& one) {
        one.object([&out](ObjectReader& run) {
          ValidatedRun checked;
          checked.group = run.string("group");
          checked.error =
              run.number({"error", "Relative error: simulated / measured - 1"}, -0.999, kMostError);
          checked.kind = run.object("kind", read_kind);
          out.checked.runs.push_back(std::move(checked));
        });
      },
      1);
  read_memory(in, out);
  return out;
}

Residuals read_residuals(const JsonDocument& document) {
  return read_document(document, read_residual_file);
}

}  // namespace

ValidatedRuns read_validated_runs(const JsonDocument& document) {
  return read_residuals(document).checked;
}

JsonValue residuals_schema() {
  return schema_of("residuals",
                   "Measured training runs and the errors of their simulated step times, as "
                   "`lockstep validate --residuals` writes them.",
                   read_residual_file);
}

ValidatedRuns load_validated_runs(const std::filesystem::path& path) {
  return read_validated_runs(read_json(path));
}

std::vector<double> load_memory_errors(const std::filesystem::path& path) {
  return read_residuals(read_json(path)).memory_errors;
}

double memory_margin(const std::vector<double>& errors) {
  if (errors.empty()) return 0;
  constexpr double kShare = 0.9;
  std::vector<double> excess;
  for (const double error : errors) excess.push_back(1 / (1 + error) - 1);
  std::sort(excess.begin(), excess.end());
  const auto last = static_cast<double>(excess.size());
  const auto at = static_cast<std::size_t>(std::ceil(kShare * last)) - 1;
  return std::max(0.0, excess[at]);
}

}  // namespace lockstep
