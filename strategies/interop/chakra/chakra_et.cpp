#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "strategies/interop/chakra/chakra_et.pb.h"
#include "strategies/interop/chakra/chakra_nodes.hpp"

namespace lockstep {

namespace {

/// Cuts a file into messages, each after its length as a varint.
class Frames {
 public:
  Frames(std::string_view bytes, Problems& problems) : bytes_{bytes}, problems_{&problems} {}

  [[nodiscard]] bool at_end() const { return offset_ == bytes_.size(); }
  [[nodiscard]] std::size_t offset() const { return offset_; }

  /// The next message; nothing where the file is cut off, which has been noted.
  std::optional<std::string_view> next() {
    const std::size_t begin = offset_;
    const auto length = varint();
    if (!length) return std::nullopt;
    if (*length > bytes_.size() - offset_) {
      note(begin, fmt::format("a message of {} bytes begins, but only {} are left: the file is cut "
                              "off or no Chakra trace",
                              *length, bytes_.size() - offset_));
      return std::nullopt;
    }
    const std::string_view message = bytes_.substr(offset_, *length);
    offset_ += message.size();
    return message;
  }

  void note(std::size_t offset, const std::string& message) {
    problems_->note({}, fmt::format("byte {}", offset), message);
  }

 private:
  std::optional<std::uint64_t> varint() {
    const std::size_t begin = offset_;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && offset_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[offset_++]);
      value |= (std::uint64_t{byte} & 0x7FU) << shift;
      if (byte < 0x80) return value;
    }
    note(begin, "the length of a message is cut off or malformed");
    return std::nullopt;
  }

  std::string_view bytes_;
  std::size_t offset_ = 0;
  Problems* problems_;
};

template <class Message>
bool parse(std::string_view bytes, Message& message) {
  return bytes.size() <= INT32_MAX &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

ChakraNumber whole(std::int64_t value) {
  return {true, value, std::to_string(value)};
}

ChakraNumber whole(std::uint64_t value) {
  ChakraNumber out{true, std::nullopt, std::to_string(value)};
  if (value <= INT64_MAX) out.value = static_cast<std::int64_t>(value);
  return out;
}

ChakraNumber whole(double value) {
  ChakraNumber out{true, std::nullopt, fmt::format("{}", value)};
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::abs(value) <= kExact && std::trunc(value) == value)
    out.value = static_cast<std::int64_t>(value);
  return out;
}

/// Converters write the same attribute as this or that type of number.
ChakraNumber number_of(const chakra::Attribute& attribute) {
  switch (attribute.value_case()) {
    case chakra::Attribute::kInt32Val:
      return whole(std::int64_t{attribute.int32_val()});
    case chakra::Attribute::kInt64Val:
      return whole(std::int64_t{attribute.int64_val()});
    case chakra::Attribute::kUint32Val:
      return whole(std::int64_t{attribute.uint32_val()});
    case chakra::Attribute::kUint64Val:
      return whole(std::uint64_t{attribute.uint64_val()});
    case chakra::Attribute::kSint32Val:
      return whole(std::int64_t{attribute.sint32_val()});
    case chakra::Attribute::kSint64Val:
      return whole(std::int64_t{attribute.sint64_val()});
    case chakra::Attribute::kFixed32Val:
      return whole(std::int64_t{attribute.fixed32_val()});
    case chakra::Attribute::kFixed64Val:
      return whole(std::uint64_t{attribute.fixed64_val()});
    case chakra::Attribute::kSfixed32Val:
      return whole(std::int64_t{attribute.sfixed32_val()});
    case chakra::Attribute::kSfixed64Val:
      return whole(std::int64_t{attribute.sfixed64_val()});
    case chakra::Attribute::kBoolVal:
      return whole(std::int64_t{attribute.bool_val()});
    case chakra::Attribute::kDoubleVal:
      return whole(attribute.double_val());
    case chakra::Attribute::kFloatVal:
      return whole(static_cast<double>(attribute.float_val()));
    case chakra::Attribute::kStringVal:
      return {true, std::nullopt, in_quotes(attribute.string_val())};
    default:
      return {true, std::nullopt, "a list or nothing"};
  }
}

template <class List>
bool all_true(const List& list) {
  return std::all_of(list.values().begin(), list.values().end(),
                     [](auto value) { return value != 0; });
}

bool involves_all(const chakra::Attribute& attribute) {
  if (attribute.has_bool_list()) return all_true(attribute.bool_list());
  if (attribute.has_int32_list()) return all_true(attribute.int32_list());
  if (attribute.has_int64_list()) return all_true(attribute.int64_list());
  return true;
}

void read_attribute(const chakra::Attribute& attribute, RawChakraNode& out) {
  const std::string& name = attribute.name();
  if (name == "is_cpu_op") out.on_cpu = number_of(attribute).value.value_or(0) != 0;
  if (name == "comm_type") out.comm_type = number_of(attribute);
  if (name == "comm_size") out.comm_size = number_of(attribute);
  if (name == "comm_src") out.comm_src = number_of(attribute);
  if (name == "comm_dst") out.comm_dst = number_of(attribute);
  if (name == "comm_tag") out.comm_tag = number_of(attribute);
  if (name == "involved_dim") out.all_dimensions = involves_all(attribute);
  if (name == "pg_name")
    out.group = attribute.has_string_val() ? attribute.string_val() : number_of(attribute).shown;
}

RawChakraNode raw_node(const chakra::Node& node) {
  RawChakraNode out;
  out.type = node.type();
  out.id = node.id();
  out.name = node.name();
  out.after_control.assign(node.ctrl_deps().begin(), node.ctrl_deps().end());
  out.after_data.assign(node.data_deps().begin(), node.data_deps().end());
  out.duration = chakra_duration(node.duration_micros());
  for (const chakra::Attribute& attribute : node.attr()) read_attribute(attribute, out);
  return out;
}

/// The first message is the metadata, which some converters leave out: a node has a type.
bool is_metadata(std::string_view message) {
  chakra::GlobalMetadata metadata;
  chakra::Node node;
  return parse(message, metadata) && !(parse(message, node) && node.type() != 0);
}

std::vector<RawChakraNode> read_nodes(std::string_view bytes, Problems& problems) {
  std::vector<RawChakraNode> out;
  Frames frames(bytes, problems);
  chakra::Node node;
  while (!frames.at_end()) {
    const std::size_t begin = frames.offset();
    const auto message = frames.next();
    if (!message) break;
    if (begin == 0 && is_metadata(*message)) continue;
    if (!parse(*message, node)) {
      frames.note(
          begin, fmt::format("the message of {} bytes here is not a Chakra node", message->size()));
      break;
    }
    out.push_back(raw_node(node));
  }
  return out;
}

}  // namespace

ChakraRank parse_chakra_et(std::string_view bytes, const std::string& file, int ranks) {
  Problems problems{file};
  if (bytes.empty()) problems.note({}, "", "the file is empty");
  const std::vector<RawChakraNode> nodes = read_nodes(bytes, problems);
  problems.throw_if_any();
  ChakraRank out = link_nodes(nodes, ranks, problems);
  problems.throw_if_any();
  return out;
}

}  // namespace lockstep
