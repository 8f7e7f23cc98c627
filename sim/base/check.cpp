#include "sim/base/check.hpp"

#include <fmt/format.h>

#include <string_view>

namespace lockstep::detail {

void fail_check(const char* condition, const char* file, int line) {
  std::string_view name = file;
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  throw InternalError(fmt::format("{}:{}: check failed: {}", name, line, condition));
}

}  // namespace lockstep::detail
