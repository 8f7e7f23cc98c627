#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Chakra traces, byte by byte: independent of the generated code that the reader uses.
/// Source: protobuf's encoding (protobuf.dev/programming-guides/encoding), field numbers of
/// et_def.proto.
namespace lockstep::test {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7FU) | 0x80U);
  return out + static_cast<char>(value);
}
inline std::string varint_field(unsigned number, std::uint64_t value) {
  return varint(std::uint64_t{number} << 3U) + varint(value);
}
inline std::string bytes_field(unsigned number, const std::string& bytes) {
  return varint((std::uint64_t{number} << 3U) | 2U) + varint(bytes.size()) + bytes;
}
inline std::string fixed64_field(unsigned number, std::uint64_t value) {
  std::string out = varint((std::uint64_t{number} << 3U) | 1U);
  for (int i = 0; i < 8; ++i)
    out += static_cast<char>((value >> (8U * static_cast<unsigned>(i))) & 0xFFU);
  return out;
}

/// The numbers of an attribute's value by its type.
enum ChakraValue : unsigned {
  kDouble = 3,
  kInt32 = 7,
  kInt64 = 9,
  kUint32 = 11,
  kUint64 = 13,
  kSint64 = 17,
  kFixed64 = 21,
  kBool = 27,
  kBoolList = 28,
  kString = 29
};

/// An attribute whose value is written as a varint (kSint64: already folded).
inline std::string attribute(const std::string& name, std::uint64_t value, unsigned type = kInt64) {
  return bytes_field(10, bytes_field(1, name) + varint_field(type, value));
}
inline std::string text_attribute(const std::string& name, const std::string& value) {
  return bytes_field(10, bytes_field(1, name) + bytes_field(kString, value));
}

enum ChakraType : unsigned { kMetadata = 1, kLoad, kStore, kCompute, kSend, kReceive, kCollective };

/// Without its length. Proto3 does not write zeros.
inline std::string node_bytes(std::uint64_t id, unsigned type,
                              const std::vector<std::uint64_t>& data_deps = {},
                              const std::string& attributes = "", std::uint64_t micros = 0) {
  std::string out;
  if (id != 0) out += varint_field(1, id);
  out += bytes_field(2, "n" + std::to_string(id)) + varint_field(3, type);
  std::string deps;
  for (const std::uint64_t dep : data_deps) deps += varint(dep);
  if (!deps.empty()) out += bytes_field(5, deps);
  if (micros != 0) out += varint_field(7, micros);
  return out + attributes;
}

inline std::string framed(const std::string& message) {
  return varint(message.size()) + message;
}

/// A file: metadata, then nodes.
inline std::string trace_bytes(const std::vector<std::string>& nodes) {
  std::string out = framed(bytes_field(1, "0.0.4"));
  for (const std::string& node : nodes) out += framed(node);
  return out;
}

inline std::string send_node(std::uint64_t id, std::uint64_t to, std::uint64_t size,
                             const std::vector<std::uint64_t>& deps = {}) {
  return node_bytes(id, kSend, deps,
                    attribute("comm_type", 5) + attribute("comm_size", size) +
                        attribute("comm_dst", to, kInt32) + attribute("comm_tag", 0, kInt32));
}
inline std::string receive_node(std::uint64_t id, std::uint64_t from, std::uint64_t size,
                                const std::vector<std::uint64_t>& deps = {}) {
  return node_bytes(id, kReceive, deps,
                    attribute("comm_type", 6) + attribute("comm_size", size) +
                        attribute("comm_src", from, kInt32));
}
inline std::string compute_node(std::uint64_t id, std::uint64_t micros,
                                const std::vector<std::uint64_t>& deps = {}) {
  return node_bytes(id, kCompute, deps, attribute("is_cpu_op", 0, kBool), micros);
}
inline std::string collective_node(std::uint64_t id, std::uint64_t type, std::uint64_t size,
                                   const std::string& group = "",
                                   const std::vector<std::uint64_t>& deps = {}) {
  return node_bytes(id, kCollective, deps,
                    attribute("comm_type", type) + attribute("comm_size", size) +
                        (group.empty() ? "" : text_attribute("pg_name", group)));
}

}  // namespace lockstep::test
