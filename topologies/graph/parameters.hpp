#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "topologies/graph/elements.hpp"

/// Parameters of topology builders: declarations per builder, and values.
namespace lockstep {

enum class ParameterType : std::uint8_t {
  link,   // LinkFigures: bandwidth, latency, efficiency
  count,  // an integer, 1 or more
  shape,  // a list of integers, 1 or more each
  ratio,  // "2:1"
};

enum class Presence : std::uint8_t { required, optional };

struct Parameter {
  std::string_view name;
  ParameterType type = ParameterType::count;
  Presence presence = Presence::required;
  std::string_view description;  // with the default if it is optional
  int sides = 0;                 // of a shape
};

struct Ratio {
  std::int64_t over = 1;
  std::int64_t under = 1;
};

/// Values by name; a builder may only read declared names.
class Parameters {
 public:
  using Value = std::variant<LinkFigures, std::int64_t, std::vector<std::int64_t>, Ratio>;

  void set(std::string_view name, Value value) {
    values_.insert_or_assign(std::string{name}, std::move(value));
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return values_.find(name) != values_.end();
  }
  [[nodiscard]] const LinkFigures& link(std::string_view name) const {
    return get<LinkFigures>(name);
  }
  [[nodiscard]] const LinkFigures& link(std::string_view name, std::string_view otherwise) const {
    return link(has(name) ? name : otherwise);
  }
  [[nodiscard]] int count(std::string_view name) const;
  [[nodiscard]] int count(std::string_view name, int fallback) const {
    return has(name) ? count(name) : fallback;
  }
  [[nodiscard]] const std::vector<std::int64_t>& shape(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  [[nodiscard]] Ratio ratio(std::string_view name) const {
    return has(name) ? get<Ratio>(name) : Ratio{};
  }

 private:
  template <class T>
  [[nodiscard]] const T& get(std::string_view name) const {
    return std::get<T>(values_.at(std::string{name}));
  }

  std::map<std::string, Value, std::less<>> values_;
};

/// A topology that cannot be built as specified: `parameter` at fault, including "ranks" and
/// "nodes"; empty if no single one is.
class BuildError : public Error {
 public:
  BuildError(std::string parameter, const std::string& message)
      : Error{ErrorCode::invalid_input, Text{message}, message, std::move(parameter)} {}
  [[nodiscard]] const std::string& parameter() const { return place(); }
};

}  // namespace lockstep
