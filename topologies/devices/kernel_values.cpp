#include "topologies/devices/kernel_values.hpp"

#include <type_traits>
#include <utility>
#include <vector>

#include "sim/config/json/json_values.hpp"

namespace lockstep {

namespace {

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
Part read_plain(ObjectReader& in) {
  Part out;
  FigureReader plain;
  read_parameters(in, plain, out);
  return out;
}
template <class Part>
void read_value(const ValueReader& value, const KernelRange& /*none*/, Part& into) {
  into = value.object(read_plain<Part>);
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
  value.array([&into](const ValueReader& one) { into.push_back(one.object(read_plain<Part>)); }, 1);
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
    const Key part{fields[i].part, fields[i].help};
    if (fields[i].required) {
      read_member(in.required(part), fields[i], out);
    } else if (const auto found = in.optional(part)) {
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
  return {{}, parameters_json(value, format)};
}
template <class Part>
[[nodiscard]] JsonValue json_value(const std::vector<Part>& values, const KernelFormat& format) {
  std::vector<JsonValue> out;
  for (const Part& value : values) out.push_back({{}, parameters_json(value, format)});
  return json_of(std::move(out));
}

template <class Of>
[[nodiscard]] JsonValue member_json(const KernelField<Of>& field, const Of& of,
                                    const KernelFormat& format) {
  return std::visit([&](auto member) { return json_value(of.*member, format); }, field.member);
}

}  // namespace

template <class Of>
void read_parameters(ObjectReader& in, FigureReader& reader, Of& out, bool partial) {
  const auto& fields = kernel_fields<Of>();
  for (std::size_t i = 0; i < fields.size(); i = end_of_key(fields, i)) {
    const bool whole = fields[i].part.empty();
    const auto read = [&](const ValueReader& value) {
      if (whole) {
        read_member(value, fields[i], out);
      } else {
        value.object([&](ObjectReader& parts) { read_parts(parts, fields, i, out); });
      }
      return true;
    };
    const Key key{fields[i].key, whole ? fields[i].help : std::string_view{}};
    if (fields[i].required && !partial) {
      (void)reader.figure(in, key, read);
    } else {
      (void)reader.optional_figure(in, key, read);
    }
  }
}

template <class Of>
JsonObject parameters_json(const Of& of, const KernelFormat& format,
                           std::optional<std::string_view> source) {
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
    if (source) value = json_object({{"value", std::move(value)}, {"source", json_of(*source)}});
    out.push_back({std::string{fields[i].key}, {}, std::move(value)});
  }
  return out;
}

template void read_parameters(ObjectReader&, FigureReader&, GemmParameters&, bool);
template void read_parameters(ObjectReader&, FigureReader&, AttentionFigures&, bool);
template void read_parameters(ObjectReader&, FigureReader&, KernelFigures&, bool);
template JsonObject parameters_json(const GemmParameters&, const KernelFormat&,
                                    std::optional<std::string_view>);
template JsonObject parameters_json(const AttentionFigures&, const KernelFormat&,
                                    std::optional<std::string_view>);
template JsonObject parameters_json(const KernelFigures&, const KernelFormat&,
                                    std::optional<std::string_view>);

}  // namespace lockstep
