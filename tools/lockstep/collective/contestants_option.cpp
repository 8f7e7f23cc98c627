#include "tools/lockstep/collective/contestants_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "tools/lockstep/errors.hpp"
#include "tools/lockstep/number_option.hpp"
#include "topologies/config/did_you_mean.hpp"

namespace lockstep::cli {

namespace {

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    out.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// `all` and `auto...`, and what is left of a list of algorithms for the table's names.
struct SpecialNames {
  bool all = false;
  bool nccl = false;
  bool replayed = false;
  std::string rest;
};

SpecialNames take_special(const std::string& list) {
  SpecialNames out;
  for (const std::string& item : items_of(list)) {
    if (item == "all") {
      out.all = true;
    } else if (item == "auto") {
      out.nccl = out.replayed = true;
    } else if (item == "auto:by=nccl") {
      out.nccl = true;
    } else if (item == "auto:by=replay") {
      out.replayed = true;
    } else if (item.starts_with("auto:")) {
      throw UsageError(
          fmt::format("--algorithm: auto takes by=nccl or by=replay, got \"{}\"", item));
    } else {
      out.rest += (out.rest.empty() ? "" : ",") + item;
    }
  }
  return out;
}

/// The name at the error's place belongs to another of the collectives asked about.
bool known_elsewhere(const std::string& list, const SpecError& error,
                     const std::vector<Collective>& asked) {
  const std::size_t end = std::min(list.find_first_of(",:", error.position), list.size());
  const std::string name = list.substr(error.position, end - error.position);
  return std::any_of(asked.begin(), asked.end(), [&](Collective collective) {
    return find_algorithm(collective, name) != nullptr;
  });
}

void add_listed(const std::string& list, Collective collective,
                const std::vector<Collective>& asked, std::vector<Contestant>& out) {
  std::string text;
  ParsedSpecs parsed = parse_specs(list, collective);
  for (const SpecError& error : parsed.errors)
    if (asked.size() == 1 || !known_elsewhere(list, error, asked))
      text += (text.empty() ? "" : "\n  ") + fmt::format("--algorithm: {}", error.message);
  if (!text.empty()) throw UsageError(text);
  for (AlgorithmSpec& spec : parsed.specs)
    out.push_back({Contestant::Kind::algorithm, collective, std::move(spec), nullptr});
}

void add_contestants(const std::string& list, Collective collective,
                     const std::vector<Collective>& asked, CollectiveQuestion& question) {
  const SpecialNames special = take_special(list);
  std::vector<Contestant>& out = question.contestants;
  const std::size_t before = out.size();
  if (special.all) {
    question.every_row = true;
    for (const CollectiveAlgorithm& row : collective_algorithms())
      if (row.collective == collective)
        out.push_back({Contestant::Kind::algorithm, collective, {&row, {}}, nullptr});
  }
  if (!special.rest.empty()) add_listed(special.rest, collective, asked, out);
  if (special.nccl) out.push_back({Contestant::Kind::nccl, collective, {}, nullptr});
  if (special.replayed) out.push_back({Contestant::Kind::replayed, collective, {}, nullptr});
  if (out.size() == before)
    throw UsageError(fmt::format("--algorithm: \"{}\" names no algorithm of {}; there are: {}",
                                 list, to_string(collective),
                                 fmt::join(algorithm_names(collective), ", ")));
}

/// The algorithm that a collective gets where none is named.
std::string usual_algorithm(Collective collective) {
  if (find_algorithm(collective, "ring") != nullptr) return "ring";
  return std::string{algorithm_names(collective).front()};
}

void add_schedule(const std::string& file, const ContestantOptions& options,
                  const std::vector<Collective>& asked, CollectiveQuestion& question) {
  MscclImport read = read_msccl(file, {options.slots});
  if (!read.collective && asked.size() == 1) {
    read.collective = asked.front();
    read.notes.erase(read.notes.begin());  // that the file does not say it
  }
  if (!read.collective)
    throw UsageError(fmt::format(
        "--schedule {}: it does not say which collective it does; name one before it", file));
  const Collective does = *read.collective;
  auto import = std::make_shared<const MscclImport>(std::move(read));
  if (!asked.empty() && std::find(asked.begin(), asked.end(), does) == asked.end())
    throw UsageError(fmt::format("--schedule {}: it does {}, not {}", file, to_string(does),
                                 options.collectives));
  ClusterOptions& cluster = question.cluster;
  if (!cluster.nodes && !cluster.ranks) cluster.ranks = import->ranks;
  question.contestants.push_back({Contestant::Kind::imported, does, {}, std::move(import)});
}

}  // namespace

Collective collective_of(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Collective each : collectives()) names.push_back(to_string(each));
  if (std::find(names.begin(), names.end(), name) != names.end()) return *parse_collective(name);
  const std::string text = fmt::format("no collective named \"{}\"", name);
  if (const auto meant = did_you_mean(name, names))
    throw UsageError(fmt::format("{}; did you mean \"{}\"?", text, *meant));
  throw UsageError(fmt::format("{}; there is {}", text, fmt::join(names, ", ")));
}

void ContestantOptions::add_to(CLI::App& command) {
  command
      .add_option("collective", collectives,
                  "One or several, separated by commas: all_reduce, reduce_scatter, all_gather, "
                  "broadcast, reduce, scatter, gather, all_to_all, send_recv, barrier")
      ->type_name("NAME,...");
  command
      .add_option("--algorithm,--algorithms,-a", algorithms,
                  "One or several, separated by commas, with parameters as in "
                  "parameter_server:shards=4; `lockstep list algorithms` names them. all: every "
                  "one that the cluster allows; auto:by=nccl: what NCCL would pick; "
                  "auto:by=replay: what replays fastest; auto: both (default: ring)")
      ->type_name("NAME,...");
  command
      .add_option("--schedule", schedules,
                  "A schedule that somebody else wrote, as MSCCL XML; may be given several times")
      ->type_name("FILE");
  add_whole_number(
      command, "--slots", 0, 1 << 20, [this](auto n) { slots = static_cast<int>(n); },
      "Messages under way per connection of imported schedules; 0: each waits for its receiver "
      "(default: as the protocol has)");
}

void ContestantOptions::ask(CollectiveQuestion& question) const {
  if (collectives.empty() && schedules.empty())
    throw UsageError("expected a collective, such as all_reduce, or --schedule");
  std::vector<Collective> asked;
  if (!collectives.empty())
    for (const std::string& name : items_of(collectives)) asked.push_back(collective_of(name));
  if (schedules.empty() || !algorithms.empty()) {
    for (const Collective collective : asked)
      add_contestants(algorithms.empty() ? usual_algorithm(collective) : algorithms, collective,
                      asked, question);
  }
  for (const std::string& file : schedules) add_schedule(file, *this, asked, question);
}

}  // namespace lockstep::cli
