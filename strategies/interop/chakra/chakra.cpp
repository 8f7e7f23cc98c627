#include "strategies/interop/chakra/chakra.hpp"

#include <fmt/format.h>

#include "strategies/interop/chakra/chakra_files.hpp"
#include "strategies/interop/chakra/chakra_groups.hpp"
#include "strategies/interop/text/read_file.hpp"

namespace lockstep {

namespace {

ChakraRank read_rank(const std::filesystem::path& path, bool json, int ranks) {
  const std::string bytes = read_file(path, "a Chakra trace", kLargestTrace);
  return json ? parse_chakra_json(bytes, path.string(), ranks)
              : parse_chakra_et(bytes, path.string(), ranks);
}

ChakraTrace read_ranks(const ChakraFiles& found, Problems& problems) {
  ChakraTrace out;
  for (const std::filesystem::path& path : found.files) {
    try {
      out.ranks.push_back(read_rank(path, found.json, static_cast<int>(found.files.size())));
    } catch (const ConfigError& error) {
      problems.add(error);
    }
  }
  return out;
}

void check_messages(const ChakraTrace& trace, Problems& problems) {
  const ChakraMessages messages = match_messages(trace);
  for (const MessageTags::Conflict& conflict : messages.tags.conflicts) {
    const MessageEnd& send = messages.ends[conflict.send];
    const ChakraRank& sender = trace.ranks[static_cast<std::size_t>(send.from)];
    const ChakraNode& from = sender.nodes[messages.nodes[conflict.send].index];
    const ChakraNode& to = trace.ranks[static_cast<std::size_t>(send.to)]
                               .nodes[messages.nodes[conflict.receive].index];
    problems.add(ConfigError{
        Problem{sender.file, from.at, fmt::format("node {}", from.id),
                fmt::format("sends {} bytes to rank {} on tag {}, which receives {} (node {})",
                            send.size.count(), send.to, send.tag, to.size.count(), to.id)}});
  }
}

/// Of the files and of the collectives that one rank alone does.
ChakraIgnored ignored_in(const ChakraTrace& trace, const std::vector<ChakraCall>& calls) {
  ChakraIgnored out;
  for (const ChakraRank& rank : trace.ranks) out.add(rank.ignored);
  for (const ChakraCall& call : calls) {
    if (call.nodes.size() > 1) continue;
    const ChakraNodeRef& only = call.nodes.front();
    out.collectives.add(trace.ranks[only.rank].nodes[only.index].size);
  }
  return out;
}

}  // namespace

ChakraTrace read_chakra(const std::filesystem::path& path) {
  Problems problems{path.string()};
  ChakraTrace trace = read_ranks(find_chakra_files(path), problems);
  problems.throw_if_any();
  const std::vector<ChakraCall> calls = match_collectives(trace, problems);
  check_messages(trace, problems);
  problems.throw_if_any();
  trace.notes = notes_on(ignored_in(trace, calls), static_cast<int>(trace.ranks.size()));
  return trace;
}

}  // namespace lockstep
