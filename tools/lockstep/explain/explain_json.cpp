#include "tools/lockstep/explain/explain_json.hpp"

#include "tools/app/fingerprint.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/explain/cost_json.hpp"
#include "tools/lockstep/explain/explain_cost_words.hpp"
#include "tools/lockstep/explain/explain_lines.hpp"
#include "tools/lockstep/explain/explain_notes.hpp"
#include "tools/lockstep/output/cluster_json.hpp"

namespace lockstep::cli {

namespace {

std::vector<Cell> event(const Explanation& explanation, std::int64_t round, const char* kind,
                        const ScheduleStepIndex& from, const ScheduleStepIndex& to, int channel,
                        const std::vector<Chunk>& sent, const std::vector<Chunk>& received,
                        std::int64_t blocks, Combine combine) {
  const ExplainWords words = words_of(explanation);
  return {Cell{round},
          Cell{std::string{kind}},
          Cell{std::int64_t{from.rank}},
          Cell{std::int64_t{to.rank}},
          Cell{std::int64_t{from.lane}},
          Cell{std::int64_t{to.lane}},
          Cell{from.step},
          Cell{to.step},
          Cell{std::int64_t{channel}},
          Cell{words.chunks(sent)},
          Cell{words.chunks(received)},
          Cell{blocks},
          Cell{explanation.stage.layout.block.count() * blocks},
          Cell{std::string{combine == Combine::reduce ? "reduced" : "copied"}}};
}

Json config_of(const Explanation& explanation) {
  const StageRequest& request = explanation.request.stage;
  const Stage& stage = explanation.stage;
  const CollectiveSetup& setup = *stage.setup;
  Json out;
  out["collective"] = to_string(algorithm_of(explanation).collective);
  out["algorithm"] = {{"name", request.spec.algorithm->name}, {"parameters", Json::object()}};
  for (const auto& [name, value] : complete(*request.spec.algorithm, stage.input).arguments) {
    const auto* number = std::get_if<std::int64_t>(&value);
    out["algorithm"]["parameters"][name] =
        number != nullptr ? Json(*number) : Json(to_string(value));
  }
  out["cluster"] = cluster_json(request.cluster, setup.loaded());
  out["network"] = request.network.model;
  out["protocol"] = setup.protocol() ? Json(setup.protocol()->id) : Json();
  out["routes"] = kRoutePolicyNames.at(static_cast<std::size_t>(setup.policy()));
  out["root"] = stage.input.root;
  out["ranks_per_node"] = stage.input.layout.per_node;
  out["dimensions"] = stage.input.layout.dimensions;
  out["size_bytes"] = stage.layout.size.count();
  out["type"] = request.type->name;
  return out;
}

Json cost_json(const Explanation& explanation) {
  const ExplainedCost& cost = explanation.cost;
  Json out;
  out["formula"] = algorithm_of(explanation).time;
  out["terms"] = terms_json(cost);
  const auto time = [](const auto& value) { return value ? Json(value->seconds()) : Json(); };
  out["formula_s"] = time(cost.formula);
  out["formula_is_estimate"] = cost.near;
  out["simulated_s"] = cost.simulated ? Json(cost.simulated->time.seconds()) : Json();
  out["ports_only_s"] = time(cost.ports_only);
  out["comparison"] = comparison_lines(cost);
  out["bounds"] = bounds_json(cost);
  add_traffic(cost, explanation.stage.layout.block, out);
  return out;
}

Json tables_json(const Explanation& explanation) {
  Json out;
  out["columns"] = explanation.columns;
  out["ranks"] = row_labels(explanation);
  out["start"] = explanation.start;
  out["rounds"] = Json::array();
  for (const ExplainedRound& round : explanation.rounds)
    out["rounds"].push_back({{"round", round.round.number},
                             {"lines", lines_of(explanation, round.round).lines},
                             {"after", round.after}});
  return out;
}

std::string fingerprint_of(const Explanation& explanation) {
  Fingerprint out;
  for (const Round& round : explanation.events)
    for (const RoundMessage& message : round.messages)
      for (const std::int64_t number : {round.number, std::int64_t{message.sender.rank},
                                        std::int64_t{message.receiver.rank}, message.blocks})
        out.add(number);
  if (explanation.cost.simulated) out.add(explanation.cost.simulated->time.ps());
  return out.text();
}

}  // namespace

Report event_report(const Explanation& explanation) {
  Report out;
  out.columns = {{"round", "round", ""},          {"kind", "kind", "", true},
                 {"from_rank", "from", ""},       {"to_rank", "to", ""},
                 {"from_lane", "lane", ""},       {"to_lane", "lane", ""},
                 {"from_step", "step", ""},       {"to_step", "step", ""},
                 {"channel", "channel", ""},      {"from_chunks", "chunks", "", true},
                 {"to_chunks", "into", "", true}, {"chunk_count", "count", ""},
                 {"size_bytes", "size", "(B)"},   {"combine", "how", "", true}};
  Section section;
  for (const Round& round : explanation.events) {
    for (const RoundMessage& message : round.messages)
      section.rows.push_back(event(explanation, round.number, "message", message.sender,
                                   message.receiver, message.channel, message.sent,
                                   message.received, message.blocks, message.combine));
    for (const RoundLocal& local : round.locals)
      section.rows.push_back(event(explanation, round.number, "local", local.place, local.place, 0,
                                   {local.operation.from}, {local.operation.to},
                                   local.operation.from.count, local.operation.combine));
  }
  out.sections.push_back(std::move(section));
  return out;
}

std::string render_json(const Explanation& explanation) {
  Report report = event_report(explanation);
  report.schema = "lockstep.explain/2";
  report.config = config_of(explanation).dump();
  report.seed = explanation.request.stage.cluster.seed;
  report.fingerprint = fingerprint_of(explanation);
  Json whole = Json::parse(lockstep::cli::render(report, Format::json));
  Json rows = std::move(whole["rows"]);
  whole.erase("rows");
  whole["rounds"] = explanation.total_rounds;
  whole["notes"] = notes_of(explanation);
  whole["cost"] = cost_json(explanation);
  whole["chunks"] = tables_json(explanation);
  whole["rows"] = std::move(rows);
  return whole.dump(2) + "\n";
}

}  // namespace lockstep::cli
