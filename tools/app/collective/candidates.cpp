#include "tools/app/collective/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "sim/config/did_you_mean.hpp"
#include "strategies/collectives/registry/automatic_choice.hpp"
#include "tools/app/errors.hpp"

namespace lockstep::app {

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
  std::vector<AutomaticChoice> choices;
  std::string rest;
};

AutomaticChoice choice_of(const std::string& item) {
  const ParsedAutomaticChoice parsed = parse_automatic_choice(item);
  if (!parsed.choice) throw RequestError("algorithm", parsed.problem);
  return *parsed.choice;
}

/// As items_of(), with the parameters of `auto:` in its own item.
std::vector<std::string> specials_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::string& item : items_of(list)) {
    const bool parameter = item.find('=') < item.find(':');
    if (parameter && !out.empty() && is_automatic(out.back())) {
      out.back() += "," + item;
    } else {
      out.push_back(std::move(item));
    }
  }
  return out;
}

SpecialNames take_special(const std::string& list) {
  SpecialNames out;
  for (const std::string& item : specials_of(list)) {
    if (item == "all") {
      out.all = true;
    } else if (item == "auto") {
      out.choices.push_back({});
      out.choices.push_back({.by = AutomaticChoice::By::replay});
    } else if (is_automatic(item)) {
      out.choices.push_back(choice_of(item));
    } else {
      out.rest += (out.rest.empty() ? "" : ",") + item;
    }
  }
  // NCCL's before the fastest, each once.
  const auto key = [](const AutomaticChoice& of) {
    return std::tuple{of.by, of.symmetric_windows, of.zero_ctas, of.collnet};
  };
  std::sort(out.choices.begin(), out.choices.end(),
            [&](const AutomaticChoice& a, const AutomaticChoice& b) { return key(a) < key(b); });
  out.choices.erase(std::unique(out.choices.begin(), out.choices.end()), out.choices.end());
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
                const std::vector<Collective>& asked, std::vector<Candidate>& out) {
  std::vector<RequestProblem> problems;
  ParsedSpecs parsed = parse_specs(list, collective);
  for (const SpecError& error : parsed.errors)
    if (asked.size() == 1 || !known_elsewhere(list, error, asked))
      problems.push_back({"algorithm", error.message});
  if (!problems.empty()) throw RequestError(std::move(problems));
  for (AlgorithmSpec& spec : parsed.specs)
    out.push_back({Candidate::Kind::algorithm, collective, std::move(spec), nullptr});
}

void add_named(const std::string& list, Collective collective, const std::vector<Collective>& asked,
               CollectiveRequest& request) {
  const SpecialNames special = take_special(list);
  std::vector<Candidate>& out = request.candidates;
  const std::size_t before = out.size();
  if (special.all) {
    request.every_row = true;
    for (const CollectiveAlgorithm& row : collective_algorithms())
      if (row.collective == collective)
        out.push_back({Candidate::Kind::algorithm, collective, {&row, {}}, nullptr});
  }
  if (!special.rest.empty()) add_listed(special.rest, collective, asked, out);
  for (const AutomaticChoice& choice : special.choices) {
    const bool by_nccl = choice.by == AutomaticChoice::By::nccl;
    out.push_back({by_nccl ? Candidate::Kind::nccl : Candidate::Kind::replayed,
                   collective,
                   {},
                   nullptr,
                   choice});
  }
  if (out.size() == before)
    throw RequestError("algorithm", fmt::format("\"{}\" names no algorithm of {}; there are: {}",
                                                list, to_string(collective),
                                                fmt::join(algorithm_names(collective), ", ")));
}

void add_schedule(const std::string& file, const CandidateNames& names,
                  const std::vector<Collective>& asked, CollectiveRequest& request) {
  MscclImport read = read_msccl(file, {names.slots});
  if (!read.collective && asked.size() == 1) {
    read.collective = asked.front();
    read.notes.erase(read.notes.begin());  // that the file does not say it
  }
  if (!read.collective)
    throw RequestError("schedule " + file,
                       "it does not say which collective it does; name one before it");
  const Collective does = *read.collective;
  auto import = std::make_shared<const MscclImport>(std::move(read));
  if (!asked.empty() && std::find(asked.begin(), asked.end(), does) == asked.end())
    throw RequestError("schedule " + file,
                       fmt::format("it does {}, not {}", to_string(does), names.collectives));
  ClusterRequest& cluster = request.cluster;
  if (!cluster.nodes && !cluster.ranks) cluster.ranks = import->ranks;
  request.candidates.push_back({Candidate::Kind::imported, does, {}, std::move(import)});
}

}  // namespace

std::string default_algorithm(Collective collective) {
  if (find_algorithm(collective, "ring") != nullptr) return "ring";
  return std::string{algorithm_names(collective).front()};
}

Collective collective_of(const std::string& name) {
  if (const auto known = parse_collective(name); known && to_string(*known) == name) return *known;
  std::vector<std::string_view> names;
  for (const Collective each : collectives()) names.push_back(to_string(each));
  const std::string text = fmt::format("no collective named \"{}\"", name);
  if (const auto meant = did_you_mean(name, names))
    throw RequestError(fmt::format("{}; did you mean \"{}\"?", text, *meant));
  for (const Collective each : collectives())
    if (find_algorithm(each, name) != nullptr)
      throw RequestError(
          fmt::format("{}; it is an algorithm: {} --algorithm {}", text, to_string(each), name));
  throw RequestError(fmt::format("{}; choose from {}", text, fmt::join(names, ", ")));
}

void add_candidates(const CandidateNames& names, CollectiveRequest& request) {
  if (names.collectives.empty() && names.schedules.empty())
    throw RequestError("expected a collective, such as all_reduce, or a schedule");
  std::vector<Collective> asked;
  if (!names.collectives.empty())
    for (const std::string& name : items_of(names.collectives))
      asked.push_back(collective_of(name));
  if (names.schedules.empty() || !names.algorithms.empty()) {
    for (const Collective collective : asked)
      add_named(names.algorithms.empty() ? default_algorithm(collective) : names.algorithms,
                collective, asked, request);
  }
  for (const std::string& file : names.schedules) add_schedule(file, names, asked, request);
}

}  // namespace lockstep::app
