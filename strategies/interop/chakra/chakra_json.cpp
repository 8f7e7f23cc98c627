#include <cmath>

#include "sim/config/complaint.hpp"
#include "sim/config/json/pointer.hpp"
#include "sim/config/reader.hpp"
#include "strategies/interop/chakra/chakra_nodes.hpp"

namespace lockstep {

namespace {

constexpr double kMostMicroseconds = 9.2e12;  // 106 days

ChakraNumber number_of(const ValueReader& value) {
  ChakraNumber out{true, std::nullopt, shown(*value.value())};
  if (const auto* whole = value.value()->get_if<std::int64_t>()) out.value = *whole;
  return out;
}

ChakraNumber optional_number(ObjectReader& in, std::string_view key) {
  const auto found = in.optional(key);
  return found ? number_of(*found) : ChakraNumber{};
}

/// true, or 1 as some converters write it.
bool is_true(const ValueReader& value) {
  const auto* plain = value.value()->get_if<bool>();
  return plain != nullptr ? *plain : number_of(value).value.value_or(0) != 0;
}

void read_dependencies(ObjectReader& in, std::string_view key, std::vector<std::uint64_t>& out) {
  in.optional_array(key, [&out](const ValueReader& id) {
    out.push_back(static_cast<std::uint64_t>(id.integer(0, INT64_MAX)));
  });
}

/// Groups are named by texts or by numbers.
std::string group_of(const ValueReader& value) {
  const auto* text = value.value()->get_if<std::string>();
  return text != nullptr ? *text : std::to_string(value.integer(INT64_MIN, INT64_MAX));
}

RawChakraNode read_node(ObjectReader& in) {
  RawChakraNode out;
  (void)in.all();  // other keys are the converter's own
  out.at = in.self().value() != nullptr ? in.self().value()->at : Position{};
  out.id = static_cast<std::uint64_t>(in.integer("Id", 0, INT64_MAX));
  out.name = in.optional_string("Name").value_or("");
  out.type = in.integer("NodeType", 1, 7);
  for (const std::string_view key : {"ctrlDeps", "ctrl_deps"})
    read_dependencies(in, key, out.after_control);
  read_dependencies(in, "data_deps", out.after_data);
  const double microseconds = in.number("runtime", 0, kMostMicroseconds, 0);
  out.duration = Duration::picoseconds(std::llround(microseconds * 1e6));
  if (const auto found = in.optional("is_cpu_op")) out.on_cpu = is_true(*found);
  out.comm_type = optional_number(in, "comm_type");
  out.comm_size = optional_number(in, "comm_size");
  out.comm_src = optional_number(in, "comm_src");
  out.comm_dst = optional_number(in, "comm_dst");
  out.comm_tag = optional_number(in, "comm_tag");
  if (const auto found = in.optional("pg_name")) out.group = group_of(*found);
  in.optional_array("involved_dim", [&out](const ValueReader& involved) {
    out.all_dimensions = out.all_dimensions && is_true(involved);
  });
  return out;
}

}  // namespace

ChakraRank parse_chakra_json(std::string_view text, const std::string& file, int ranks) {
  constexpr const char* kNodes = "workload_graph";
  const std::string pointer = child_pointer("", kNodes);
  Problems problems{file};
  std::vector<RawChakraNode> nodes;
  const auto take = [&](const JsonValue& value, std::size_t index) {
    const ValueReader reader{&value, child_pointer(pointer, index), problems};
    nodes.push_back(reader.object([](ObjectReader& node) { return read_node(node); }));
  };
  const JsonDocument document = parse_json(text, file, {kLargestTrace, kNodes, take});
  read_document(document, [kNodes](ObjectReader& in) {
    (void)in.all();
    in.array(kNodes, [](const ValueReader&) {});
    return true;
  });
  problems.throw_if_any();
  ChakraRank out = link_nodes(nodes, ranks, problems);
  problems.throw_if_any();
  return out;
}

}  // namespace lockstep
