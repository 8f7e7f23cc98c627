#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "strategies/collectives/registry/registry.hpp"
#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/app/write_file.hpp"
#include "tools/figures/curve_text.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/complexity/complexity_render.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/cluster_options.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/plot/figure_file.hpp"
#include "tools/lockstep/report/report_option.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/lockstep/terminal/progress.hpp"

namespace lockstep::cli {

namespace {

constexpr std::array<const char*, 5> kQuantities{"rounds", "small_time", "busiest", "total",
                                                 "large_time"};

/// The options as written.
struct Options {
  std::string collective;
  ClusterRequest cluster;
  NetworkRequest network;
  std::string algorithms = "all";
  std::string ranks = "2..1024";
  std::optional<int> points;
  std::string small = "8";
  std::string large = "64M";
  std::string type = "float";
  std::optional<int> root;
  bool measured = false;
  std::string plot;
  std::string page;  // HTML file; empty: none
  std::string quantity = "large_time";
  OutputStyle style;
};

std::optional<int> rank_count(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < 1 || number > kMostRanks) return std::nullopt;
  return number;
}

struct Range {
  int least = 1;
  int most = 1;
};

Range range_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  if (dots != std::string::npos) {
    const auto least = rank_count(std::string_view{text}.substr(0, dots));
    const auto most = rank_count(std::string_view{text}.substr(dots + 2));
    if (least && most && *least <= *most) return {*least, *most};
  }
  throw UsageError(fmt::format(
      "--ranks: expected two numbers from 1 to {} as in 2..1024, got \"{}\"", kMostRanks, text));
}

/// Powers of two.
std::vector<int> powers(const Range& range) {
  std::vector<int> out;
  for (std::int64_t n = 1; n <= range.most; n *= 2)
    if (n >= range.least) out.push_back(static_cast<int>(n));
  return out;
}

/// So many numbers in equal ratios, as near as whole numbers can be.
std::vector<int> ratios(const Range& range, int points) {
  std::vector<int> out;
  const double least = range.least;
  const double ratio = range.most / least;
  for (int i = 0; i < points; ++i) {
    const double share = points == 1 ? 0 : static_cast<double>(i) / (points - 1);
    const auto n = static_cast<int>(std::lround(least * std::pow(ratio, share)));
    if (out.empty() || n > out.back()) out.push_back(n);
  }
  return out;
}

std::vector<int> ranks_of(const Options& given) {
  const Range range = range_of(given.ranks);
  std::vector<int> out = given.points ? ratios(range, *given.points) : powers(range);
  if (out.empty())
    throw UsageError(
        fmt::format("--ranks: no power of two from {} to {}; --points K takes other numbers too",
                    range.least, range.most));
  return out;
}

std::vector<AlgorithmSpec> algorithms_of(const Options& given, Collective collective) {
  if (given.algorithms != "all") {
    ParsedSpecs parsed = parse_specs(given.algorithms, collective);
    if (parsed.errors.empty()) return std::move(parsed.specs);
    std::string text;
    for (const SpecError& error : parsed.errors)
      text += (text.empty() ? "" : "\n  ") + fmt::format("--algorithms: {}", error.message);
    throw UsageError(text);
  }
  std::vector<AlgorithmSpec> out;
  for (const CollectiveAlgorithm& row : collective_algorithms())
    if (row.collective == collective) out.push_back({&row, {}});
  return out;
}

const ElementType* type_of(const std::string& text) {
  if (const ElementType* type = find_element_type(text)) return type;
  std::vector<std::string_view> names;
  for (const ElementType& type : element_types()) names.push_back(type.name);
  throw UsageError(fmt::format("-d: expected one of {}, got \"{}\"", fmt::join(names, ", "), text));
}

ComplexityRequest request_of(const Options& given) {
  ComplexityRequest out;
  out.collective = collective_of(given.collective);
  out.cluster = given.cluster;
  (void)given.cluster.policy();
  out.network = given.network;
  (void)given.network.parsed();
  out.algorithms = algorithms_of(given, out.collective);
  out.every_row = given.algorithms == "all";
  out.ranks = ranks_of(given);
  out.root = root_of(given.root, out.collective);
  out.small = size_option("--size-small", given.small);
  out.large = size_option("--size-large", given.large);
  out.type = type_of(given.type);
  return out;
}

// --- the plot

struct Quantity {
  std::string title;  // "time of 64 MiB"
  std::string label;  // of the axis
  figures::Unit unit = figures::Unit::seconds;
  std::function<double(const ComplexityPoint&)> of;
};

double seconds(const std::optional<Duration>& time) {
  return time ? time->seconds() : 0;
}

Quantity quantity_of(const std::string& name, const ComplexityRequest& request) {
  const auto at = [](const char* what, Bytes size) {
    return fmt::format("{} of {}", what, to_string(size));
  };
  if (name == "rounds")
    return {at("rounds of a message", request.small), "Rounds", figures::Unit::count,
            [](const auto& point) { return static_cast<double>(point.rounds.value_or(0)); }};
  if (name == "small_time")
    return {at("time", request.small), "Time", figures::Unit::seconds,
            [](const auto& point) { return seconds(point.small_time); }};
  if (name == "busiest")
    return {at("bytes of the busiest node, message", request.large),
            "Sent and received by the busiest node", figures::Unit::bytes,
            [](const auto& point) { return static_cast<double>(point.busiest.count()); }};
  if (name == "total")
    return {at("bytes of all nodes, message", request.large), "Sent by all nodes",
            figures::Unit::bytes,
            [](const auto& point) { return static_cast<double>(point.total.count()); }};
  if (name == "large_time")
    return {at("time", request.large), "Time", figures::Unit::seconds,
            [](const auto& point) { return seconds(point.large_time); }};
  throw UsageError(
      fmt::format("--plot-of: expected one of {}, got \"{}\"", fmt::join(kQuantities, ", "), name));
}

/// Closest to the least on average first: those are the ones in color.
void sort_curves(std::vector<figures::Curve>& curves) {
  const auto score = [](const figures::Curve& curve) {
    double sum = 0;
    for (const figures::Point& point : curve.points) sum += std::log(std::max(point.y, 1e-300));
    return curve.points.empty() ? 0 : sum / static_cast<double>(curve.points.size());
  };
  std::stable_sort(curves.begin(), curves.end(),
                   [&](const auto& a, const auto& b) { return score(a) < score(b); });
}

bool coincide(const figures::Curve& a, const figures::Curve& b) {
  constexpr double kSame = 0.002;  // of the value: less than a line's width
  return std::equal(a.points.begin(), a.points.end(), b.points.begin(), b.points.end(),
                    [](const figures::Point& p, const figures::Point& q) {
                      return p.x == q.x && std::abs(p.y - q.y) <= kSame * std::abs(q.y);
                    });
}

/// Curves that hide one another become one; the notes name them.
void merge_curves(figures::CurveFigure& figure) {
  std::vector<figures::Curve> out;
  std::vector<std::vector<std::string>> equal;
  for (figures::Curve& each : figure.curves) {
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const auto& other) { return coincide(other, each); });
    if (same == out.end()) {
      out.push_back(std::move(each));
      equal.emplace_back();
    } else {
      equal[static_cast<std::size_t>(same - out.begin())].push_back(each.name);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (equal[i].size() == 1) out[i].name += " = " + equal[i].front();
    if (equal[i].size() < 2) continue;
    figure.notes.push_back(fmt::format("Equal to {}: {}.", out[i].name, fmt::join(equal[i], ", ")));
    out[i].name += fmt::format(" (and {} equal)", equal[i].size());
  }
  figure.curves = std::move(out);
}

figures::CurveFigure figure_of(const Quantity& quantity, const ComplexityRequest& request,
                               const ComplexityResult& result) {
  figures::CurveFigure figure;
  for (const ComplexityOutcome& outcome : result.outcomes) {
    figures::Curve& one = figure.curves.emplace_back();
    one.name = outcome.spec.text();
    for (const ComplexityPoint& point : outcome.points)
      one.points.push_back({static_cast<double>(point.ranks), quantity.of(point)});
  }
  sort_curves(figure.curves);
  merge_curves(figure);
  figure.heading = {
      fmt::format("{}: {} by number of ranks", to_string(request.collective), quantity.title),
      {fmt::format("on {}", cluster_text(result))}};
  figure.x = {"Ranks", figures::Unit::count, true};
  figure.y = {quantity.label, quantity.unit, true};
  return figure;
}

void draw(const Options& given, const ComplexityRequest& request, const ComplexityResult& result,
          const FigureTarget& target) {
  const auto figure = figure_of(quantity_of(given.quantity, request), request, result);
  if (!has_points(figure)) throw Refusal("--plot: no value above 0; nothing to draw");
  write_figure(target.is_text() ? draw_text(figure) : figures::draw(figure), target);
}

/// All quantities.
std::string page_of(bool measured, const ComplexityRequest& request,
                    const ComplexityResult& result) {
  std::vector<PageFigure> drawn;
  for (const char* kind : kQuantities) {
    const auto figure = figure_of(quantity_of(kind, request), request, result);
    if (has_points(figure))
      drawn.push_back({kind, [figure, kind](bool compact) {
                         return figures::draw(figure, {.prefix = kind, .compact = compact});
                       }});
  }
  return report_page(report_of(request, result, measured), drawn);
}

Findings findings_of(bool measured, const ComplexityRequest& request,
                     const std::shared_ptr<const ComplexityResult>& result) {
  Findings out{[=] { return page_of(measured, request, *result); }};
  for (const char* kind : kQuantities)
    if (has_points(figure_of(quantity_of(kind, request), request, *result)))
      out.figures.emplace_back(kind);
  out.figure = [=](const std::string& kind, const figures::FigureStyle& style) {
    return figures::draw(figure_of(quantity_of(kind, request), request, *result), style);
  };
  return out;
}

std::vector<FigureTarget> target_of(const Options& given, const ComplexityRequest& request) {
  (void)quantity_of(given.quantity, request);
  check_report(given.page);
  if (given.plot.empty()) return {};
  if (given.plot == "-" && !given.style.is_table())
    throw UsageError("--plot -: draws below a table only, not with --format");
  std::vector<FigureTarget> out{parse_figure_target(given.plot, {{}, {}, true})};
  check_figure_targets(out);
  return out;
}

void run(const Options& given) {
  ComplexityRequest request = request_of(given);
  request.on_progress = progress_line("complexity", "fewer --ranks or --algorithms take less");
  const std::vector<FigureTarget> targets = target_of(given, request);
  const auto measured = timed([&] {
    auto made = std::make_shared<const ComplexityResult>(measure_complexity(request));
    request.cluster.cluster = request.cluster.path();  // as long as its name means the same
    return made;
  });
  const ComplexityResult& result = *measured;
  request.on_progress = {};
  keep_later([=, in_full = given.measured] { return findings_of(in_full, request, measured); });
  print_later(given.style, [=, style = given.style, in_full = given.measured] {
    return render(request, *measured, in_full, style);
  });
  for (const FigureTarget& target : targets) draw(given, request, result, target);
  if (!given.page.empty()) write_file(given.page, page_of(given.measured, request, result));
}

}  // namespace

void add_complexity(const Command& app) {
  const Command command = app.add_subcommand(
      "complexity", "Measure how rounds, bytes and times grow with the number of ranks");
  const auto given = std::make_shared<Options>();
  given->cluster.cluster = "star";
  command->add_option("collective", given->collective, "all_reduce, broadcast, ...")->required();
  command
      ->add_option("--algorithms,--algorithm,-a", given->algorithms,
                   "One or several, separated by commas, with parameters as in "
                   "parameter_server:shards=4, or all")
      ->type_name("NAME,...")
      ->capture_default_str();
  add_cluster(*command, given->cluster);
  command->remove_option(command->get_option("--nodes"));
  command->remove_option(command->get_option("--ranks"));
  command->add_option("--ranks,-n", given->ranks, "Powers of two in this range")
      ->type_name("A..B")
      ->capture_default_str();
  add_whole_number(
      *command, "--points", 1, 10'000, [given](auto n) { given->points = static_cast<int>(n); },
      "Number of rank counts, spaced geometrically (default: powers of two)");
  command->add_option("--size-small", given->small, "Message size used to measure latency")
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("--size-large,--size", given->large, "Message size used to measure bandwidth")
      ->type_name("SIZE")
      ->capture_default_str();
  add_network(*command, given->network);
  add_whole_number(
      *command, "--root,-r", 0, kMostRanks - 1,
      [given](auto n) { given->root = static_cast<int>(n); },
      "Root rank of broadcast, reduce, scatter and gather")
      ->default_str("0");
  command
      ->add_option("-d,--datatype,--type", given->type,
                   "Element type of nccl-tests: float, half, bfloat16, ...")
      ->type_name("TYPE")
      ->capture_default_str();
  command->add_flag("--measured", given->measured,
                    "Print the measurements, one row per number of ranks, instead of their growth");
  command
      ->add_option("--plot", given->plot,
                   "Draw --plot-of over the number of ranks; FILE ends in .svg, .pdf, .png or "
                   ".txt, or is - for text below the table")
      ->type_name("FILE");
  add_report_option(*command, given->page);
  command->add_option("--plot-of", given->quantity, fmt::format("{}", fmt::join(kQuantities, ", ")))
      ->type_name("WHAT")
      ->capture_default_str();
  add_format(*command, given->style);
  command->footer(
      "Examples:\n"
      "  lockstep complexity all_reduce --algorithms naive,ring,halving_doubling --ranks 2..64\n"
      "  lockstep complexity all_reduce --algorithms ring,direct --ranks 4..64 --size-large 1M "
      "--measured");
  command->resets(given);
  command->callback([given] { run(*given); });
}

}  // namespace lockstep::cli
