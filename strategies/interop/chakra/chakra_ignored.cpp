#include "strategies/interop/chakra/chakra_ignored.hpp"

#include <fmt/format.h>

namespace lockstep {

namespace {

Bytes sum(Bytes a, Bytes b) {
  std::int64_t out = 0;
  return Bytes{__builtin_add_overflow(a.count(), b.count(), &out) ? INT64_MAX : out};
}

std::string counted(std::int64_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string bytes_of(const ChakraDropped& dropped) {
  return fmt::format(" ({} {})", dropped.bytes.count(),
                     dropped.bytes.count() == 1 ? "byte" : "bytes");
}

/// What a trace of one rank leaves out, though its job had others.
std::string lone_rank(const ChakraIgnored& ignored) {
  std::string what;
  if (ignored.collectives.count > 0)
    what = counted(ignored.collectives.count, "collective", "collectives") +
           bytes_of(ignored.collectives);
  if (ignored.messages.count > 0)
    what += (what.empty() ? "" : " and ") + counted(ignored.messages.count, "message", "messages") +
            bytes_of(ignored.messages);
  return fmt::format(
      "communication was dropped: {}, since there is the file of one rank alone; put those of the "
      "other ranks in addition to it",
      what);
}

}  // namespace

void ChakraDropped::add(Bytes size) {
  ++count;
  bytes = sum(bytes, size);
}

void ChakraIgnored::add(const ChakraIgnored& other) {
  absent_controls += other.absent_controls;
  cyclic_controls += other.cyclic_controls;
  cpu_communications += other.cpu_communications;
  messages = {messages.count + other.messages.count, sum(messages.bytes, other.messages.bytes)};
  collectives = {collectives.count + other.collectives.count,
                 sum(collectives.bytes, other.collectives.bytes)};
}

std::vector<std::string> notes_on(const ChakraIgnored& ignored, int ranks) {
  std::vector<std::string> out;
  if (ignored.absent_controls > 0)
    out.push_back(fmt::format(
        "{} (ctrl_deps) on nodes that are not in their file {} ignored, as ASTRA-sim does, which "
        "follows data_deps",
        counted(ignored.absent_controls, "dependency", "dependencies"),
        ignored.absent_controls == 1 ? "is" : "are"));
  if (ignored.cyclic_controls > 0)
    out.push_back(fmt::format(
        "{} (ctrl_deps) {} ignored: with them there is a wait cycle, with data_deps alone there is "
        "none",
        counted(ignored.cyclic_controls, "dependency", "dependencies"),
        ignored.cyclic_controls == 1 ? "is" : "are"));
  if (ignored.cpu_communications > 0)
    out.push_back(
        fmt::format("{} of communication on the CPU (is_cpu_op) skipped: no bytes move for them, "
                    "their recorded time is the CPU's",
                    counted(ignored.cpu_communications, "record", "records")));
  const bool lone = ignored.messages.count > 0 || ignored.collectives.count > 0;
  if (ranks == 1 && lone) out.push_back(lone_rank(ignored));
  if (ranks > 1 && ignored.collectives.count > 0)
    out.push_back(fmt::format("{} in groups that one rank alone names{} move nothing",
                              counted(ignored.collectives.count, "collective", "collectives"),
                              bytes_of(ignored.collectives)));
  return out;
}

}  // namespace lockstep
