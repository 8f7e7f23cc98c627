#include "tools/lockstep/teach/answer.hpp"

#include <array>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/lockstep/teach/answers.hpp"

namespace lockstep::cli {

namespace {

using Read = LaterAnswer (*)(ObjectReader&);
constexpr std::array<std::pair<std::string_view, Read>, 6> kAnswers{{
    {"catalog", read_catalog},
    {"film", read_film},
    {"sizes", read_sizes},
    {"growth", read_growth},
    {"pipeline", read_pipeline},
    {"step", read_step},
}};

}  // namespace

std::string answer(const std::string& request) {
  const JsonDocument document = parse_json(request, "request");
  const LaterAnswer compute = read_document(document, [](ObjectReader& in) {
    std::vector<std::string_view> names;
    for (const auto& [name, read] : kAnswers) names.push_back(name);
    const auto kind = in.kind("do", "request", names);
    for (const auto& [name, read] : kAnswers)
      if (kind == name) return read(in);
    return LaterAnswer{};
  });
  return compute().dump();
}

}  // namespace lockstep::cli
