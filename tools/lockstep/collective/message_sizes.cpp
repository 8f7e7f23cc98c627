#include "tools/lockstep/collective/message_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/lockstep/options/number_option.hpp"
#include "tools/lockstep/options/sizes.hpp"
#include "tools/lockstep/output/errors.hpp"

namespace lockstep::cli {

namespace {

std::string least_text(const MessageSizes& given, bool crossover) {
  if (!given.least.empty()) return given.least;
  return crossover ? "8" : "32M";
}

Bytes largest_size(const MessageSizes& given, bool crossover, Bytes least) {
  const bool is_given = !given.most.empty();
  const std::string text = is_given ? given.most : crossover ? "1G" : "32M";
  const Bytes most = size_option("-e", text);
  if (most < least)
    throw UsageError(fmt::format("-e: {}{} is below {}-b {}", is_given ? "" : "the default of ",
                                 text, given.least.empty() ? "the default of " : "",
                                 least_text(given, crossover)));
  return most;
}

void check_steps(const MessageSizes& given, Bytes least, Bytes most) {
  if (given.factor && !given.step.empty())
    throw UsageError("-f and -i cannot be combined: multiply or add");
  if (given.factor && least.count() == 0 && most.count() > 0)
    throw UsageError("-b: a size of 0 cannot grow by a factor; begin above 0, or use -i");
}

std::vector<Bytes> stepped(Bytes least, Bytes most, std::optional<std::int64_t> factor,
                           Bytes step) {
  std::vector<Bytes> out;
  constexpr std::size_t kMostSizes = 100'000;
  for (Bytes size = least; size <= most;) {
    out.push_back(size);
    if (out.size() > kMostSizes)
      throw UsageError(fmt::format("more than {} sizes from -b to -e", kMostSizes));
    const bool beyond = factor && size.count() > most.count() / *factor;
    if (size == most || beyond) break;
    size = factor ? size * *factor : size + step;
  }
  return out;
}

/// Doubled, unless steps are given, from what is above nothing; both ends are among them.
std::vector<Bytes> sizes_to_cross(const MessageSizes& given, Bytes least, Bytes most, Bytes step) {
  std::optional<std::int64_t> factor = given.factor;
  if (!factor && given.step.empty()) factor = 2;
  const Bytes first = factor && least.count() == 0 ? std::min(8_B, most) : least;
  std::vector<Bytes> out = stepped(first, most, factor, step);
  if (first != least) out.insert(out.begin(), least);
  if (out.back() != most) out.push_back(most);
  return out;
}

/// Those that are named one by one, as they stand.
std::vector<Bytes> named_sizes(const MessageSizes& given, bool crossover) {
  if (!given.least.empty() || !given.most.empty() || given.factor || !given.step.empty())
    throw UsageError("--size names every size: leave out -b, -e, -f and -i");
  if (crossover) throw UsageError("--crossover looks between -b and -e: leave out --size");
  std::vector<Bytes> out;
  for (const std::string& list : given.list)
    for (std::size_t begin = 0; begin <= list.size();) {  // an empty one between commas is refused
      const std::size_t end = std::min(list.find(',', begin), list.size());
      out.push_back(size_option("--size", list.substr(begin, end - begin)));
      begin = end + 1;
    }
  return out;
}

}  // namespace

std::vector<Bytes> sizes_of(const MessageSizes& given, bool crossover) {
  if (!given.list.empty()) return named_sizes(given, crossover);
  const Bytes least = size_option("-b", least_text(given, crossover));
  const Bytes most = largest_size(given, crossover, least);
  check_steps(given, least, most);
  const Bytes step = given.step.empty() ? 1_MiB : size_option("-i", given.step);
  if (step.count() == 0) throw UsageError("-i: expected a step above 0, got 0");
  return crossover ? sizes_to_cross(given, least, most, step)
                   : stepped(least, most, given.factor, step);
}

void add_size_options(const Command& command, const std::shared_ptr<MessageSizes>& given) {
  command
      .add_option(
          "--size,--sizes", given->list,
          "Sizes one by one, separated by commas (64M = 64 MiB), instead of -b, -e, -f and -i")
      ->type_name("SIZE,...");
  command.add_option("-b,--minbytes", given->least, "Smallest size (64M = 64 MiB)")
      ->type_name("SIZE")
      ->default_str("32M");
  command.add_option("-e,--maxbytes", given->most, "Largest size")
      ->type_name("SIZE")
      ->default_str("32M");
  add_whole_number(
      command, "-f,--stepfactor", 2, 1 << 20,
      [given](auto n) { given->factor = static_cast<std::int64_t>(n); }, "Multiply sizes by this");
  command.add_option("-i,--stepbytes", given->step, "Add this to sizes (default 1M)")
      ->type_name("SIZE");
}

}  // namespace lockstep::cli
