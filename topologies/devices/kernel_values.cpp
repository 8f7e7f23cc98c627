#include "topologies/devices/kernel_values.hpp"

#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/json_values.hpp"

namespace lockstep {

namespace {

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

template <class Of>
[[nodiscard]] bool is_list(const KernelField<Of>& field) {
  return std::visit(
      [](auto member) { return IsList<std::decay_t<decltype(std::declval<Of>().*member)>>::value; },
      field.member);
}

void read_value(const ValueReader& value, const KernelRange& /*none*/, Duration& into) {
  into = value.duration();
}
void read_value(const ValueReader& value, const KernelRange& range, std::int64_t& into) {
  into = value.integer(static_cast<std::int64_t>(range.low), static_cast<std::int64_t>(range.high));
}
void read_value(const ValueReader& value, const KernelRange& range, double& into) {
  into = value.number(range.low, range.high);
}
template <class Part>
void read_value(const ValueReader& value, const KernelRange& /*none*/, Part& into) {
  into = value.object(read_plain_parameters<Part>);
}
/// Head sizes stand in ascending order, so that interpolation finds its neighbors.
void check_order(const ValueReader& value, const std::vector<AttentionFigures::OfHeadSize>& sizes) {
  for (std::size_t i = 1; i < sizes.size(); ++i)
    if (sizes[i - 1].head_size >= sizes[i].head_size)
      return value.note("head sizes stand in ascending order, each once");
}
void check_order(const ValueReader& /*any*/, const std::vector<TileShape>& /*tiles*/) {}
template <class Part>
void read_value(const ValueReader& value, const KernelRange& /*none*/, std::vector<Part>& into) {
  value.array(
      [&into](const ValueReader& one) { into.push_back(one.object(read_plain_parameters<Part>)); },
      1);
  check_order(value, into);
}

template <class Of>
void read_member(const ValueReader& value, const KernelField<Of>& field, Of& out) {
  std::visit([&](auto member) { read_value(value, field.range, out.*member); }, field.member);
}

/// The members of a key whose value is an object.
template <class Of>
void read_parts(ObjectReader& in, const std::vector<KernelField<Of>>& fields, std::size_t first,
                Of& out) {
  for (std::size_t i = first; i < end_of_key(fields, first); ++i) {
    if (fields[i].required) {
      read_member(in.required(fields[i].part), fields[i], out);
    } else if (const auto found = in.optional(fields[i].part)) {
      read_member(*found, fields[i], out);
    }
  }
}

[[nodiscard]] JsonValue json_value(Duration value, const KernelFormat& format) {
  return json_of(format.duration(value));
}
[[nodiscard]] JsonValue json_value(std::int64_t value, const KernelFormat& /*any*/) {
  return json_of(value);
}
[[nodiscard]] JsonValue json_value(double value, const KernelFormat& format) {
  return {{}, JsonNumber{value, format.number(value), false}};
}
template <class Part>
[[nodiscard]] JsonValue json_value(const Part& value, const KernelFormat& format) {
  return plain_parameters_json(value, format);
}
template <class Part>
[[nodiscard]] JsonValue json_value(const std::vector<Part>& values, const KernelFormat& format) {
  std::vector<JsonValue> out;
  for (const Part& value : values) out.push_back(plain_parameters_json(value, format));
  return json_of(std::move(out));
}

template <class Of>
[[nodiscard]] JsonValue member_json(const KernelField<Of>& field, const Of& of,
                                    const KernelFormat& format) {
  return std::visit([&](auto member) { return json_value(of.*member, format); }, field.member);
}

}  // namespace

template <class Of>
void read_parameters(ObjectReader& in, FigureReader& sources, Of& out, bool partial) {
  const auto& fields = kernel_fields<Of>();
  for (std::size_t i = 0; i < fields.size(); i = end_of_key(fields, i)) {
    if ((partial || !fields[i].required) && !in.optional(fields[i].key)) continue;
    sources.figure(in, fields[i].key, [&](const ValueReader& value) {
      if (fields[i].part.empty()) {
        read_member(value, fields[i], out);
      } else {
        value.object([&](ObjectReader& parts) { read_parts(parts, fields, i, out); });
      }
      return true;
    });
  }
}

template <class Of>
Of read_plain_parameters(ObjectReader& in) {
  Of out;
  for (const KernelField<Of>& field : kernel_fields<Of>()) {
    if (field.machine.empty()) continue;
    if (field.required) {
      read_member(in.required(field.machine), field, out);
    } else if (const auto found = in.optional(field.machine)) {
      read_member(*found, field, out);
    }
  }
  return out;
}

template <class Of>
JsonObject parameters_json(const Of& of, const KernelFormat& format, std::string_view source) {
  const auto& fields = kernel_fields<Of>();
  JsonObject out;
  for (std::size_t i = 0; i < fields.size(); i = end_of_key(fields, i)) {
    JsonValue value = member_json(fields[i], of, format);
    if (!fields[i].part.empty()) {
      JsonObject parts;
      for (std::size_t j = i; j < end_of_key(fields, i); ++j)
        parts.push_back({std::string{fields[j].part}, {}, member_json(fields[j], of, format)});
      value.data = std::move(parts);
    }
    out.push_back({std::string{fields[i].key},
                   {},
                   json_object({{"value", std::move(value)}, {"source", json_of(source)}})});
  }
  return out;
}

template <class Of>
JsonValue plain_parameters_json(const Of& of, const KernelFormat& format) {
  JsonObject out;
  for (const bool lists : {false, true})
    for (const KernelField<Of>& field : kernel_fields<Of>())
      if (!field.machine.empty() && is_list(field) == lists)
        out.push_back({std::string{field.machine}, {}, member_json(field, of, format)});
  return {{}, std::move(out)};
}

template void read_parameters(ObjectReader&, FigureReader&, GemmParameters&, bool);
template void read_parameters(ObjectReader&, FigureReader&, AttentionFigures&, bool);
template void read_parameters(ObjectReader&, FigureReader&, KernelFigures&, bool);
template GemmParameters read_plain_parameters(ObjectReader&);
template AttentionFigures read_plain_parameters(ObjectReader&);
template JsonObject parameters_json(const GemmParameters&, const KernelFormat&, std::string_view);
template JsonObject parameters_json(const AttentionFigures&, const KernelFormat&, std::string_view);
template JsonObject parameters_json(const KernelFigures&, const KernelFormat&, std::string_view);
template JsonValue plain_parameters_json(const GemmParameters&, const KernelFormat&);
template JsonValue plain_parameters_json(const AttentionFigures&, const KernelFormat&);

}  // namespace lockstep
