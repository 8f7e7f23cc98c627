#include "tools/app/validate/residuals_text.hpp"

#include <fmt/format.h>
#include "tools/app/json.hpp"

#include <map>

#include "strategies/measure/confidence/confidence.hpp"

namespace lockstep::app {

namespace {

constexpr std::size_t kOfOneGroup = 80;

/// Four digits tell an error or a width well enough.
double rounded(double number) {
  return std::stod(fmt::format("{:.4f}", number));
}

Json json_of(const RunKind& kind) {
  Json out = {{"stack", kind.stack},
              {"gpu", kind.gpu},
              {"model", kind.model},
              {"precision", kind.precision},
              {"recompute", kind.recompute},
              {"parameters", kind.parameters},
              {"sequence_tokens", kind.sequence},
              {"micro_batch", kind.micro_batch},
              {"gpus", kind.gpus},
              {"nodes", kind.nodes},
              {"gpus_per_node", kind.gpus_per_node},
              {"nic_gbps_per_gpu", rounded(kind.nic_gbps_per_gpu)},
              {"tp", kind.tp},
              {"pp", kind.pp},
              {"cp", kind.cp},
              {"ep", kind.ep},
              {"dp", kind.dp},
              {"zero", kind.zero},
              {"tp_across_nodes", kind.tp_across_nodes}};
  for (const auto& [property, value] : kind.features)
    out["features"].push_back({{"property", property}, {"value", value}});
  return out;
}

std::string line_of(const Comparison& row) {
  const Json run = {
      {"group", row.group}, {"error", rounded(row.error())}, {"kind", json_of(*row.kind)}};
  return "    " + run.dump();
}

}  // namespace

namespace {

/// Rows of peak memory, all of them.
std::string memory_lines(const std::vector<Comparison>& rows) {
  std::string lines;
  for (const Comparison& row : rows) {
    if (row.quantity != ComparedQuantity::peak_memory) continue;
    const Json run = {{"group", row.group}, {"error", rounded(row.error())}};
    lines += (lines.empty() ? "    " : ",\n    ") + run.dump();
  }
  return lines;
}

}  // namespace

std::string residuals_text(const std::vector<Comparison>& rows) {
  std::map<std::string, std::vector<const Comparison*>> groups;
  for (const Comparison& row : rows)
    if (row.kind) groups[row.group].push_back(&row);
  std::string lines;
  std::vector<ValidatedRun> kept;
  for (const auto& [group, of] : groups) {
    const std::size_t every = (of.size() + kOfOneGroup - 1) / kOfOneGroup;
    for (std::size_t i = 0; i < of.size(); i += every) {
      lines += (lines.empty() ? "" : ",\n") + line_of(*of[i]);
      kept.push_back({*of[i]->kind, group, rounded(of[i]->error())});
    }
  }
  const IntervalWidth width = interval_width(kept);
  const std::string memory = memory_lines(rows);
  return "{\n  \"$schema\": \"../schema/residuals.schema.json\",\n"
         "  \"source\": \"lockstep validate --residuals: simulated over measured step time, less "
         "one\",\n  \"interval_width\": " +
         Json{{"inside", rounded(width.inside)}, {"outside", rounded(width.outside)}}.dump() +
         ",\n  \"runs\": [\n" + lines + "\n  ]" +
         (memory.empty() ? "" : ",\n  \"peak_memory\": [\n" + memory + "\n  ]") + "\n}\n";
}

}  // namespace lockstep::app
