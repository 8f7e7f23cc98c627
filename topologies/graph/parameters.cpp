#include "topologies/graph/parameters.hpp"

#include "sim/base/check.hpp"

namespace lockstep {

int Parameters::count(std::string_view name) const {
  const auto value = get<std::int64_t>(name);
  LOCKSTEP_CHECK(value > 0 && value <= INT32_MAX);
  return static_cast<int>(value);
}

}  // namespace lockstep
