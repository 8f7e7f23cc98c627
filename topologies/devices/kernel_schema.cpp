#include "topologies/devices/kernel_schema.hpp"

#include <string>
#include <utility>
#include <vector>

#include "sim/config/json_schema.hpp"
#include "topologies/devices/kernel_fields.hpp"

namespace lockstep {

namespace {

template <class Of>
[[nodiscard]] JsonValue plain_schema();

template <class T>
struct KernelType;
template <>
struct KernelType<Duration> {
  static JsonValue schema(const KernelRange& /*none*/) { return reference_schema("duration"); }
};
template <>
struct KernelType<std::int64_t> {
  static JsonValue schema(const KernelRange& range) {
    return integer_schema(static_cast<std::int64_t>(range.low),
                          static_cast<std::int64_t>(range.high));
  }
};
template <>
struct KernelType<double> {
  static JsonValue schema(const KernelRange& range) { return number_schema(range.low, range.high); }
};
template <>
struct KernelType<std::vector<TileShape>> {
  static JsonValue schema(const KernelRange& /*none*/) {
    return array_schema(reference_schema("tile"), 1);
  }
};
template <>
struct KernelType<std::vector<AttentionFigures::OfHeadSize>> {
  static JsonValue schema(const KernelRange& /*none*/) {
    return array_schema(reference_schema("head_size"), 1);
  }
};
template <>
struct KernelType<AttentionFigures::Overhead> {
  static JsonValue schema(const KernelRange& /*none*/) { return reference_schema("overhead"); }
};

template <class Of>
[[nodiscard]] JsonValue member_schema(const KernelField<Of>& field) {
  return std::visit(
      [&field](auto member) {
        using Type = std::decay_t<decltype(std::declval<Of>().*member)>;
        return KernelType<Type>::schema(field.range);
      },
      field.member);
}

/// Values without sources.
template <class Of>
[[nodiscard]] JsonValue plain_schema() {
  std::vector<SchemaProperty> properties;
  for (const KernelField<Of>& field : kernel_fields<Of>())
    if (!field.machine.empty())
      properties.push_back({std::string{field.machine}, described(member_schema(field), field.help),
                            field.required});
  return object_schema(properties);
}

/// The schema of the key that begins at row `first`: a value with its source.
template <class Of>
[[nodiscard]] SchemaProperty key_schema(const std::vector<KernelField<Of>>& fields,
                                        std::size_t first) {
  const KernelField<Of>& field = fields[first];
  JsonValue value = member_schema(field);
  std::string_view help = field.help;
  if (!field.part.empty()) {
    std::vector<SchemaProperty> parts;
    for (std::size_t i = first; i < end_of_key(fields, first); ++i)
      parts.push_back({std::string{fields[i].part},
                       described(member_schema(fields[i]), fields[i].help), fields[i].required});
    value = object_schema(parts);
    help = {};
  }
  const std::vector<SchemaProperty> with_source{{"value", std::move(value)},
                                                {"source", reference_schema("text")}};
  return {std::string{field.key}, described(object_schema(with_source), help), field.required};
}

template <class Of>
[[nodiscard]] std::vector<SchemaProperty> keys_schema() {
  const auto& fields = kernel_fields<Of>();
  std::vector<SchemaProperty> out;
  for (std::size_t i = 0; i < fields.size(); i = end_of_key(fields, i))
    out.push_back(key_schema(fields, i));
  return out;
}

void write_parts(JsonValue& schema) {
  replace_at(schema, {"definitions", "tile"}, plain_schema<TileShape>());
  replace_at(schema, {"definitions", "head_size"}, plain_schema<AttentionFigures::OfHeadSize>());
  replace_at(schema, {"definitions", "overhead"}, plain_schema<AttentionFigures::Overhead>());
}

}  // namespace

void write_kernel_schema(JsonValue& schema) {
  write_parts(schema);
  replace_at(schema, {"definitions", "product"}, object_schema(keys_schema<GemmParameters>()));
  replace_at(schema, {"definitions", "implementation"},
             object_schema(keys_schema<AttentionFigures>()));
  for (const char* form : {"whole", "extending"})
    for (SchemaProperty& property : keys_schema<KernelFigures>())
      replace_at(schema, {"definitions", form, "properties", property.key},
                 std::move(property.schema));
}

void write_machine_schema(JsonValue& schema) {
  write_parts(schema);
  replace_at(schema, {"definitions", "product"}, plain_schema<GemmParameters>());
  replace_at(schema, {"properties", "fit", "properties", "attention"},
             plain_schema<AttentionFigures>());
}

}  // namespace lockstep
