#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/app/collective/candidates.hpp"
#include "tools/app/collective/setup/root.hpp"
#include "tools/lockstep/commands.hpp"
#include "tools/lockstep/host/host.hpp"
#include "tools/lockstep/options/backend_option.hpp"
#include "tools/lockstep/options/format_option.hpp"
#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/rank_list.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/output/errors.hpp"
#include "tools/lockstep/parser/command_parser.hpp"
#include "tools/lockstep/report/report_page.hpp"
#include "tools/lockstep/terminal/progress.hpp"
#include "tools/lockstep/verify/strategy_command.hpp"
#include "tools/lockstep/verify/verify_render.hpp"

namespace lockstep::cli {

namespace {

/// The options as written.
struct Options {
  std::string collective;
  std::string algorithms = "all";
  bool algorithms_given = false;
  std::vector<std::string> schedules;
  std::string ranks = "8";
  std::string dimensions;
  std::string size;
  std::string root;  // empty: not given
  std::optional<std::int64_t> count;
  VerifyCollectiveRequest request;
  std::shared_ptr<BackendOption> backend = std::make_shared<BackendOption>();
  std::string type = "float";
  OutputStyle style;
};

std::optional<int> number_of(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc{} || stop != end || number < 0) return std::nullopt;
  return number;
}

/// "8x4"; empty: none.
std::vector<int> dimensions_of(const std::string& text) {
  std::vector<int> out;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const auto size = number_of(text.substr(begin, end - begin));
    if (!size || *size < 1)
      throw UsageError(fmt::format("--dims: expected dimensions such as 8x4, got \"{}\"", text));
    out.push_back(*size);
    begin = end + 1;
  }
  return out;
}

/// Messages are of single-precision floats.
std::optional<std::int64_t> count_of(const Options& given) {
  if (given.size.empty()) return given.count;
  if (given.count) throw UsageError("--size and --count cannot be combined");
  return size_option("--size", given.size).count() / 4;
}

void add_algorithms(const Options& given, Collective collective, VerifyCollectiveRequest& out) {
  if (given.algorithms == "all") {
    for (const CollectiveAlgorithm& row : collective_algorithms())
      if (row.collective == collective) out.algorithms.push_back({&row, {}});
    return;
  }
  ParsedSpecs parsed = parse_specs(given.algorithms, collective);
  std::string text;
  for (const SpecError& error : parsed.errors)
    text += (text.empty() ? "" : "\n  ") + fmt::format("--algorithm: {}", error.message);
  if (!text.empty()) throw UsageError(text);
  std::move(parsed.specs.begin(), parsed.specs.end(), std::back_inserter(out.algorithms));
}

void add_schedules(const Options& given, std::optional<Collective> asked,
                   VerifyCollectiveRequest& out) {
  for (const std::string& file : given.schedules) {
    MscclImport import = read_msccl(file, {given.request.slots});
    const std::optional<Collective> does = import.collective ? import.collective : asked;
    if (!does)
      throw UsageError(fmt::format(
          "--schedule {}: it does not say which collective it does; name one before it", file));
    if (asked && *does != *asked)
      throw UsageError(fmt::format("--schedule {}: it does {}, not {}", file, to_string(*does),
                                   to_string(*asked)));
    out.schedules.push_back({file, std::move(import), *does});
  }
}

void read_root(const Options& given, VerifyCollectiveRequest& out) {
  if (given.root.empty()) return;
  out.every_root = given.root == "all";
  const auto root = number_of(given.root);
  if (!root && !out.every_root)
    throw UsageError(fmt::format("--root: expected a rank or all, got \"{}\"", given.root));
  out.root = root.value_or(0);
}

/// Imported schedules have their roots for good.
void check_root(const Options& given, const VerifyCollectiveRequest& request) {
  if (given.root.empty()) return;
  std::vector<Collective> collectives;
  for (const AlgorithmSpec& spec : request.algorithms)
    if (collectives.empty() || collectives.back() != spec.algorithm->collective)
      collectives.push_back(spec.algorithm->collective);
  if (collectives.empty())
    throw UsageError("--root: the roots of schedules from files stand in the files");
  (void)root_of(request.root, collectives);
}

VerifyCollectiveRequest request_of(const Options& given) {
  VerifyCollectiveRequest out = given.request;
  out.ranks = parse_rank_list("--ranks", given.ranks);
  out.dimensions = dimensions_of(given.dimensions);
  out.count = count_of(given);
  read_root(given, out);
  const bool every = given.collective == "all";
  if (every && (given.algorithms != "all" || !given.schedules.empty()))
    throw UsageError("all collectives are verified with --algorithm all and without --schedule");
  std::optional<Collective> asked;
  if (!every && !given.collective.empty()) asked = collective_of(given.collective);
  if (!every && !asked && given.schedules.empty())
    throw UsageError("expected a collective, such as all_reduce, all, or --schedule");
  add_schedules(given, asked, out);
  if (every)
    for (const Collective each : collectives()) add_algorithms(given, each, out);
  if (asked && (given.schedules.empty() || given.algorithms_given))
    add_algorithms(given, *asked, out);
  check_root(given, out);
  return out;
}

/// As on all commands; the names of precisions too.
NumberType type_of(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, NumberType>, 3> kTypes{
      {{"float", NumberType::fp32}, {"bfloat16", NumberType::bf16}, {"half", NumberType::fp16}}};
  for (const auto& [name, type] : kTypes)
    if (text == name || text == to_string(type)) return type;
  throw UsageError(fmt::format(
      "-d: expected one of float, bfloat16, half (fp32, bf16, fp16), got \"{}\"", text));
}

void verify_given(const Options& given) {
  VerifyCollectiveRequest request = request_of(given);
  request.numbers.type = type_of(given.type);
  const std::unique_ptr<Backend> device = given.backend->open();
  if (device == nullptr && request.numbers.type != NumberType::fp32)
    throw UsageError("-d: the reference executor has float only; add --backend host or cuda");
  if (device != nullptr && request.slots)
    throw UsageError("--slots: devices keep to each schedule's own; leave out --backend");
  if (device != nullptr) request.numbers.devices = device->count();
  request.device = device.get();
  request.on_progress = progress_line("verify", "fewer ranks or algorithms take less");
  const auto result = timed(
      [&] { return std::make_shared<const VerifyCollectiveResult>(verify_collective(request)); });
  if (result->schedules.empty()) throw RequestError(nothing_to_verify(result->skipped));
  request.on_progress = {};
  request.device = nullptr;
  const auto report = [request =
                           std::make_shared<const VerifyCollectiveRequest>(std::move(request)),
                       result] { return report_of(*request, *result); };
  keep_later([report] { return Findings{[report] { return report_page(report(), {}); }}; });
  print_later(given.style, [report, style = given.style] { return render(report(), style); });
  if (const VerifiedSchedule* wrong = result->first_wrong()) throw Refusal(refusal_text(*wrong));
}

void add_subject(const Command& command, const std::shared_ptr<Options>& given) {
  command
      .add_option("collective", given->collective,
                  "Such as all_reduce; all: every collective. With --schedule it may be left out")
      ->type_name("NAME");
  command
      .add_option(
          "--algorithm,-a",
          [given](const std::string& text) {
            given->algorithms = text;
            given->algorithms_given = true;
          },
          "One or several, separated by commas, with parameters as in ring:channels=2; all: all "
          "that "
          "this number of ranks allows")
      ->type_name("NAME,...")
      ->default_str("all");
  command
      .add_option("--schedule", given->schedules,
                  "MSCCL XML file with a schedule to compare; repeatable")
      ->type_name("FILE");
  command.add_option("--ranks,-n", given->ranks, "Rank counts: 8, 2..16 or 2,4,8..10")
      ->type_name("N,...")
      ->capture_default_str();
  add_whole_number(
      command, "--ranks-per-node", 1, 1 << 16,
      [given](auto n) { given->request.ranks_per_node = static_cast<int>(n); },
      "Consecutive ranks that share a node and its switch (default 1)");
  command
      .add_option("--dims", given->dimensions,
                  "Dimensions of a torus, as in 8x4; their product is the number of ranks")
      ->type_name("AxB");
}

}  // namespace

void add_verify(const Command& app) {
  const Command verify =
      app.add_subcommand("verify", "Verify schedules and strategies numerically, on real data");
  verify->require_subcommand(1);
  const std::string examples =
      "Examples:\n"
      "  lockstep verify collective all_reduce --algorithm ring,halving_doubling --ranks 2..9\n"
      "  lockstep verify collective all --ranks 8 --ranks-per-node 4 --root all --format json";
  verify->footer(
      "Examples:\n"
      "  lockstep verify collective all_reduce --algorithm ring,halving_doubling --ranks 2..9\n"
      "  lockstep verify strategy configs/scenarios/pipeline-1f1b.json");
  const Command command = verify->add_subcommand(
      "collective", "Execute schedules on symbols, integers and random floats");
  const auto given = std::make_shared<Options>();
  add_subject(*command, given);
  command
      ->add_option("--size", given->size,
                   "Message size in bytes (default: three elements per chunk, less one)")
      ->type_name("SIZE");
  add_whole_number(
      *command, "--count", 0, std::uint64_t{1} << 40U,
      [given](auto n) { given->count = static_cast<std::int64_t>(n); }, "Message size in elements");
  command
      ->add_option("--root,-r", given->root,
                   "Root of broadcast, reduce, scatter and gather; all: each in turn")
      ->type_name("RANK")
      ->default_str("0");
  add_whole_number(
      *command, "--slots", 0, 1 << 20,
      [given](auto n) { given->request.slots = static_cast<int>(n); },
      "Messages in flight per connection; 0: rendezvous (default: the schedule's)");
  add_whole_number(
      *command, "--seed", 0, UINT64_MAX, [given](auto n) { given->request.seed = n; },
      "Random seed of the data and of the execution order (default 1)");
  add_backend(*command, given->backend,
              "Backend that executes the schedule: host: command graphs in host memory; cuda: on "
              "GPUs, ranks distributed over them (default: the reference executor)");
  command
      ->add_option("-d,--datatype,--type", given->type,
                   "Element type, as nccl-tests names them: float, or with --backend bfloat16 and "
                   "half; sets the error bound")
      ->type_name("TYPE")
      ->capture_default_str();
  add_format(*command, given->style);
  command->footer(
      "symbolic: every rank ends with every contribution exactly once. orders: execution orders "
      "tried.\n"
      "races: unordered accesses to one chunk, at least one of them a write. worst: largest error "
      "over\n"
      "its bound n * eps * sum|x|. queue: maximum messages in flight on a connection. ratio to "
      "min: "
      "bytes of\n"
      "the busiest rank over the minimum that any algorithm needs.\n"
      "\n" +
      examples);
  command->resets(given);
  command->resets(given->backend);
  command->callback([given] { verify_given(*given); });
  add_verify_strategy(*verify);
}

}  // namespace lockstep::cli
