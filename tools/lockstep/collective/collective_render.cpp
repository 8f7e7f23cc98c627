#include "tools/lockstep/collective/collective_render.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tools/app/collective/bounds.hpp"
#include "tools/app/json.hpp"
#include "tools/lockstep/collective/fold_output.hpp"
#include "tools/lockstep/collective/limited_by.hpp"
#include "tools/lockstep/collective/rank_setting_output.hpp"
#include "tools/lockstep/collective/setup_text.hpp"
#include "tools/lockstep/output/cells.hpp"
#include "tools/lockstep/output/cluster_json.hpp"
#include "tools/lockstep/topology/link_text.hpp"

namespace lockstep::cli {

namespace {

/// As nccl-tests fits numbers into a column: 2 decimals, fewer as the number grows.
std::string fitted(double value) {
  if (value < 1000) return fmt::format("{:.2f}", value);
  if (value < 10000) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

Cell fitted_microseconds(Duration time) {
  return Cell{time.seconds(), fitted(time.seconds() * 1e6)};
}

/// Nothing where it was not counted.
Cell counted(const std::optional<std::int64_t>& number, std::int64_t factor) {
  return number ? Cell{*number * factor} : no_value();
}

bool not_counted(const CollectiveRow& row) {
  return !row.counts.rounds || !row.counts.sent_blocks;
}

/// GB/s times a factor, as bytes per second for programs; nothing where no time passes.
Cell bandwidth(const std::optional<double>& gb_per_s, double factor) {
  if (!gb_per_s) return no_value();
  const double value = gb_per_s.value_or(0) * factor;
  return Cell{value * 1e9, fitted(value)};
}

/// The columns of nccl-tests in its order.
const std::vector<std::string> kNcclTestsColumns = {
    "size_bytes", "count", "type", "redop", "root", "time_s", "algbw_Bps", "busbw_Bps", "wrong"};

const std::vector<std::string> kBriefColumns = {"size_bytes", "algorithm",      "time_s",
                                                "busbw_Bps",  "bound_fraction", "limited_by"};

/// Left out without --wide; #wrong is shown where it is counted.
std::vector<std::string> only_wide(bool with_check) {
  std::vector<std::string> out = {"count",
                                  "type",
                                  "redop",
                                  "root",
                                  "algbw_Bps",
                                  "rounds",
                                  "sent_per_rank_bytes",
                                  "bound_s",
                                  "bound_by",
                                  "busiest_link_busy_fraction",
                                  "busiest_link"};
  if (!with_check) out.emplace_back("wrong");
  return out;
}

/// Of the default table, on a narrow terminal.
const std::vector<std::string> kLeftOutFirst = {
    "nccl_model_s", "busiest_link_load", "wrong", "best", "limited_by", "bound_fraction", "chosen"};

std::vector<Column> columns(bool with_load, bool with_choice, bool has_rivals) {
  std::vector<Column> out = {{"algorithm", "algorithm", "", true},
                             {"collective", "", "", true},
                             {"ranks", "", ""},
                             {"size_bytes", "size", "(B)"},
                             {"count", "count", "(elements)"},
                             {"type", "type", ""},
                             {"redop", "redop", ""},
                             {"root", "root", ""},
                             {"time_s", "time", "(us)"},
                             {"algbw_Bps", "algbw", "(GB/s)"},
                             {"busbw_Bps", "busbw", "(GB/s)"},
                             {"wrong", "#wrong", ""},
                             {"rounds", "rounds", ""},
                             {"sent_per_rank_bytes", "sent/rank", "(B)"},
                             {"bound_s", "bound", "(us)"},
                             {"bound_fraction", "%bound", ""},
                             {"bound_by", "bound by", "", true},
                             {"busiest_link_busy_fraction", "%busy", ""},
                             {"busiest_link", "busiest link", "", true},
                             {"limited_by", "limited by", "", true},
                             {"best", has_rivals ? "best" : "", "", true}};
  if (with_load) out.push_back({"busiest_link_load", "load", "(x size)"});
  if (with_choice) {
    out.push_back({"nccl_model_s", "NCCL's model", "(us)"});
    out.push_back({"chosen", "chosen", "", true});
  }
  return out;
}

Cell wrong_elements(const CollectiveRow& row) {
  if (!row.wrong) return no_value("N/A");
  Cell out{*row.wrong};
  if (*row.wrong > 0) out.emphasis = Emphasis::error;
  return out;
}

void add_bound(const CollectiveRow& row, std::vector<Cell>& out) {
  const Duration bound = row.bound.time();
  const Duration time = row.result.time;
  const double fraction = time > Duration{} ? bound.seconds() / time.seconds() : 1;
  out.push_back(fitted_microseconds(bound));
  out.emplace_back(fraction, fmt::format("{:.1f}", 100 * fraction));
  out.emplace_back(source_of(row.bound));
}

/// What a user should know of an imported schedule at these sizes and on these links.
std::vector<std::string> notes_on(const MscclImport& import, const CollectiveRequest& request) {
  std::vector<std::string> out = import.notes;
  const Bytes least{import.min_bytes.value_or(0)};
  const Bytes most{import.max_bytes.value_or(INT64_MAX)};
  const bool all_meant = std::all_of(request.sizes.begin(), request.sizes.end(),
                                     [&](Bytes size) { return least <= size && size <= most; });
  if (!all_meant)
    out.push_back(fmt::format("it is meant for sizes from {}{}", to_string(least),
                              import.max_bytes ? " to " + to_string(most) : " on"));
  if (import.protocol != "Simple" && request.network.protocol.empty())
    out.push_back(
        fmt::format("it is written for {}; --protocol {} puts what that costs on the links",
                    import.protocol, import.protocol == "LL" ? "ll" : "ll128"));
  return out;
}

Json parameters_of(const AlgorithmInput& input) {
  auto out = Json::object();
  for (const auto& [name, value] : input.arguments) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      out[name] = *number;
    } else {
      out[name] = to_string(value);
    }
  }
  return out;
}

Json candidate_config(const Candidate& candidate, const CollectiveSetup& setup, int root) {
  Json out = {{"collective", to_string(candidate.collective)}, {"name", candidate.text()}};
  if (candidate.kind != Candidate::Kind::algorithm) return out;
  out["name"] = candidate.spec.algorithm->name;
  out["parameters"] = parameters_of(
      complete(*candidate.spec.algorithm, setup.input(candidate.spec.arguments, root, {})));
  return out;
}

class Renderer {
 public:
  Renderer(const CollectiveRequest& request, const CollectiveReport& done, bool classes, bool brief)
      : request_{request},
        done_{done},
        classes_{classes},
        brief_{brief},
        chooses_{std::any_of(done.candidates.begin(), done.candidates.end(), [](const auto& each) {
          return each.kind == Candidate::Kind::replayed || each.kind == Candidate::Kind::nccl;
        })} {}

  [[nodiscard]] Report report() const {
    Report out;
    out.schema = "lockstep.collective/3";
    out.config = collective_config(request_, *done_.setup, done_.candidates);
    out.seed = request_.cluster.seed;
    out.fingerprint = done_.fingerprint;
    const bool rivals = std::any_of(done_.candidates.begin(), done_.candidates.end(),
                                    [&](const auto& each) { return has_rivals(each.collective); });
    out.columns = columns(request_.load, chooses_, rivals);
    out.first_in_tables = brief_ ? kBriefColumns : kNcclTestsColumns;
    out.only_wide = only_wide(request_.check);
    out.left_out_first = kLeftOutFirst;
    if (brief_) out.columns[3].unit.clear();  // each size has its own
    std::string folds;
    for (std::size_t c = 0; c < done_.candidates.size(); ++c)
      out.sections.push_back(section(c, folds));
    out.more.emplace_back("fold", "[" + folds + "]");
    name_fastest(out);
    if (std::any_of(done_.rows.begin(), done_.rows.end(), not_counted))
      out.footer.emplace_back("-: too many messages to be counted");
    for (const Candidate& each : done_.candidates) {
      if (!each.import) continue;
      for (const std::string& note : notes_on(*each.import, request_))
        out.footer.push_back(each.text() + ": " + note);
    }
    for (const RequestProblem& each : done_.left_out)
      out.footer.push_back("not applicable: " + text_of_left_out(each));
    add_ring_note(out);
    add_nvls_note(out);
    add_windows_notes(out);
    add_average(out);
    return out;
  }

 private:
  [[nodiscard]] bool has_rivals(Collective collective) const {
    return std::count_if(done_.candidates.begin(), done_.candidates.end(),
                         [&](const Candidate& each) { return each.collective == collective; }) > 1;
  }

  /// A ring without parameters has one channel, which no user of NCCL expects.
  void add_ring_note(Report& out) const {
    if (done_.candidates.size() != 1 || done_.candidates.front().text() != "ring") return;
    out.footer.emplace_back(
        "ring has one channel; NCCL uses several: --algorithm auto:by=nccl or ring:channels=N");
  }

  /// NVLS is the algorithm whose kernel costs most in addition to its links.
  void add_nvls_note(Report& out) const {
    const bool named =
        std::any_of(done_.candidates.begin(), done_.candidates.end(), [](const Candidate& each) {
          return each.kind == Candidate::Kind::algorithm && each.spec.algorithm->name == "nvls";
        });
    if (named)
      out.footer.emplace_back(
          "nvls: at link rates; --algorithm auto:by=nccl adds the measured costs of NCCL's "
          "kernels");
  }

  /// Windows change NCCL's choice within one NVLink domain alone.
  void add_windows_notes(Report& out) const {
    if (done_.setup->cluster().nodes() == 1) return;
    for (const Candidate& each : done_.candidates)
      if (each.kind == Candidate::Kind::nccl && each.automatic.symmetric_windows)
        out.footer.push_back(fmt::format(
            "{}: symmetric kernels over several nodes are not modeled; simulated as NCCL's choice "
            "without windows",
            each.text()));
  }

  /// Mean of the column busbw over the sizes: of one algorithm as nccl-tests ends, of several side
  /// by side.
  void add_average(Report& out) const {
    if (done_.sizes.size() < 2) return;
    if (done_.candidates.size() == 1) {
      out.footer.push_back(fmt::format("Avg bus bandwidth    : {:g}", average_busbw(0)));
      return;
    }
    std::vector<std::string> all;
    for (std::size_t c = 0; c < done_.candidates.size(); ++c)
      all.push_back(fmt::format("{} {:.4g}", done_.candidates[c].text(), average_busbw(c)));
    out.footer.push_back(fmt::format("average busbw (GB/s): {}", fmt::join(all, ", ")));
  }

  [[nodiscard]] double average_busbw(std::size_t candidate) const {
    const double factor = bus_factor(done_.candidates[candidate].collective, done_.setup->ranks());
    double sum = 0;
    for (std::size_t s = 0; s < done_.sizes.size(); ++s) {
      const CollectiveRow& row = done_.row(candidate, s);
      sum += algbw_gb_per_s(row.run.layout.size, row.result.time).value_or(0) * factor;
    }
    return sum / static_cast<double>(done_.sizes.size());
  }

  /// A schedule from a file has its root for good.
  [[nodiscard]] int root_of(const Candidate& candidate) const {
    return candidate.import ? candidate.import->root : request_.root;
  }

  [[nodiscard]] Section section(std::size_t c, std::string& folds) const {
    const Candidate& candidate = done_.candidates[c];
    Section out;
    if (c == 0 || candidate.collective != done_.candidates[c - 1].collective)
      out.notes.push_back(fmt::format("{}: {}", to_string(candidate.collective),
                                      setup_text_with_ranks(done_.setup->names())));
    if (c == 0) {
      add_link_changes(*done_.setup, out);
      add_drawn_ranks(request_, *done_.setup, out);
    }
    for (std::size_t s = 0; s < done_.sizes.size(); ++s) {
      const CollectiveRow& one = done_.row(c, s);
      out.rows.push_back(row(candidate, one));
      add_fold(candidate, one, out, folds);
    }
    return out;
  }

  [[nodiscard]] std::vector<Cell> row(const Candidate& candidate, const CollectiveRow& one) const {
    const MessageLayout& layout = one.run.layout;
    const int ranks = done_.setup->ranks();
    const std::optional<double> algbw = algbw_gb_per_s(layout.size, one.result.time);
    const Collective collective = candidate.collective;
    std::vector<Cell> out = {
        Cell{candidate.text()},
        Cell{std::string{to_string(collective)}},
        Cell{std::int64_t{ranks}},
        Cell{layout.size.count(), brief_ ? to_string(layout.size) : std::string{}},
        Cell{layout.count},
        Cell{std::string{request_.type->name}},
        Cell{std::string{reduces(collective) ? "sum" : "none"}},
        Cell{std::int64_t{has_root(collective) ? root_of(candidate) : -1}},
        fitted_microseconds(one.result.time),
        bandwidth(algbw, 1),
        bandwidth(algbw, bus_factor(collective, ranks)),
        wrong_elements(one),
        counted(one.counts.rounds, 1),
        counted(one.counts.sent_blocks, layout.block.count()),
    };
    add_bound(one, out);
    out.emplace_back(one.result.busy, fmt::format("{:.1f}", 100 * one.result.busy));
    out.emplace_back(one.result.busiest_link);
    out.emplace_back(limited_by(one, LinkNames::whole), limited_by(one, LinkNames::kinds));
    out.back().emphasis = Emphasis::limit;
    out.emplace_back(one.fastest, one.fastest ? "*" : " ");
    if (one.fastest && has_rivals(collective))
      out.front().emphasis = out.back().emphasis = Emphasis::best;
    if (request_.load)
      out.push_back(one.load ? Cell{*one.load, fmt::format("{:.3f}", *one.load)} : no_value());
    if (chooses_) {
      out.push_back(one.run.nccl_model ? fitted_microseconds(*one.run.nccl_model) : no_value());
      out.emplace_back(one.run.chosen);
    }
    return out;
  }

  /// In the section, if asked for, and for JSON.
  void add_fold(const Candidate& candidate, const CollectiveRow& one, Section& out,
                std::string& json) const {
    const FoldReport& fold = one.result.fold;
    const Bytes size = one.run.layout.size;
    FoldMembers members{done_.setup->ranks(), "switch"};
    if (one.run.auxiliary_ranks == AuxiliaryRanks::none) members = {};
    if (one.run.auxiliary_ranks == AuxiliaryRanks::hosts) members.auxiliary = "host";
    json += (json.empty() ? "" : ",") + fold_json(candidate.text(), size, fold, classes_, members);
    if (!classes_) return;
    out.closing.push_back(fmt::format("{} at {}:", candidate.text(), to_string(size)));
    for (std::string& line : describe_fold(fold, members)) out.closing.push_back(std::move(line));
  }

  /// "all_reduce: fastest from 8 B to 64 KiB is ring:channels=2, ...", one line a collective.
  void name_fastest(Report& out) const {
    std::vector<Collective> done;
    for (const Candidate& first : done_.candidates) {
      const Collective collective = first.collective;
      if (!has_rivals(collective) || std::find(done.begin(), done.end(), collective) != done.end())
        continue;
      done.push_back(collective);
      out.footer.push_back(
          fmt::format("fastest {}: {}", to_string(collective), fastest_of(collective)));
    }
  }

  /// "ring from 8 B to 64 KiB, tree at 1 MiB".
  [[nodiscard]] std::string fastest_of(Collective collective) const {
    std::vector<std::pair<std::string, std::pair<Bytes, Bytes>>> runs;
    for (std::size_t s = 0; s < done_.sizes.size(); ++s) {
      for (std::size_t c = 0; c < done_.candidates.size(); ++c) {
        if (done_.candidates[c].collective != collective || !done_.row(c, s).fastest) continue;
        const std::string& chosen = done_.row(c, s).run.chosen;
        const std::string name = chosen.empty() ? done_.candidates[c].text() : chosen;
        if (runs.empty() || runs.back().first != name)
          runs.push_back({name, {done_.sizes[s], done_.sizes[s]}});
        runs.back().second.second = done_.sizes[s];
      }
    }
    std::string text;
    for (const auto& [name, range] : runs) {
      const auto& [from, to] = range;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          from == to ? "at " + to_string(from)
                                     : "from " + to_string(from) + " to " + to_string(to));
    }
    return text;
  }

  const CollectiveRequest& request_;
  const CollectiveReport& done_;
  bool classes_;
  bool brief_;    // the default columns, for people
  bool chooses_;  // some candidate is an automatic choice
};

}  // namespace

std::string text_of_left_out(const RequestProblem& problem) {
  const std::size_t space = problem.place.find(' ');  // "algorithm ring", "schedule a.xml"
  if (space == std::string::npos) return problem.message;
  return problem.place.substr(space + 1) + ": " + problem.message;
}

void add_link_changes(const CollectiveSetup& setup, Section& section) {
  const std::vector<std::string> changes = lines_of(setup.loaded());
  section.notes.insert(section.notes.end(), changes.begin(), changes.end());
}

std::string collective_config(const CollectiveRequest& request, const CollectiveSetup& setup,
                              const std::vector<Candidate>& candidates) {
  Json config;
  config["collective"] = to_string(candidates.front().collective);
  config["cluster"] = cluster_json(request.cluster, setup.loaded());
  if (setup.loaded().link_changes.any()) config["link_changes"] = lines_of(setup.loaded());
  config["network"] = request.network.model;
  config["protocol"] = setup.protocol() ? setup.protocol()->id : "none";
  config["routes"] = kRoutePolicyNames.at(static_cast<std::size_t>(setup.policy()));
  auto& algorithms = config["algorithms"] = Json::array();
  for (const Candidate& each : candidates)
    algorithms.push_back(candidate_config(each, setup, request.root));
  auto& sizes = config["sizes_bytes"] = Json::array();
  for (const Bytes size : request.sizes) sizes.push_back(size.count());
  config["type"] = request.type->name;
  config["redop"] = "sum";
  config["root"] = request.root;
  config["skew_s"] = request.skew.seconds();
  add_rank_settings(request, setup, config);
  config["check"] = request.check;
  // A file's name may be any bytes; JSON's texts are UTF-8.
  return config.dump();
}

Report report_of(const CollectiveRequest& request, const CollectiveReport& done, bool classes,
                 const OutputStyle& style) {
  return Renderer(request, done, classes, style.is_table() && !style.wide).report();
}

}  // namespace lockstep::cli
