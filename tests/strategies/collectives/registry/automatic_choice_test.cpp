#include "strategies/collectives/registry/automatic_choice.hpp"

#include <doctest/doctest.h>

namespace lockstep {
namespace {

std::string read_back(std::string_view text) {
  const ParsedAutomaticChoice parsed = parse_automatic_choice(text);
  CHECK(parsed.choice.has_value() == parsed.problem.empty());
  return parsed.choice ? parsed.choice->text() : "refused: " + parsed.problem;
}

bool refused(std::string_view text, std::string_view because) {
  const ParsedAutomaticChoice parsed = parse_automatic_choice(text);
  return !parsed.choice && parsed.problem.find(because) != std::string::npos;
}

TEST_CASE("choices in place of an algorithm are read and written back") {
  for (const char* text :
       {"auto:by=nccl", "auto:by=replay", "auto:by=nccl,windows=symmetric",
        "auto:by=nccl,windows=symmetric,cta_policy=zero", "auto:by=nccl,collnet=enable",
        "auto:by=nccl,windows=symmetric,collnet=enable"})
    CHECK(read_back(text) == text);
  CHECK(read_back("auto:by=nccl:windows=symmetric") == "auto:by=nccl,windows=symmetric");
  CHECK(read_back("auto:windows=symmetric,by=nccl") == "auto:by=nccl,windows=symmetric");
}

TEST_CASE("what is no choice says why") {
  CHECK(refused("auto", "auto:by=nccl or auto:by=replay"));
  CHECK(refused("ring", "got \"ring\""));
  CHECK(refused("auto:by=ncl", "got \"by=ncl\""));
  CHECK(refused("auto:by=nccl,windows=all", "got \"windows=all\""));
  CHECK(refused("auto:by=nccl,", "got \"\""));
  CHECK(refused("auto:windows=symmetric", "by=nccl or by=replay"));
  CHECK(refused("auto:by=replay,windows=symmetric", "go with by=nccl"));
  CHECK(refused("auto:by=replay,collnet=enable", "go with by=nccl"));
  CHECK(refused("auto:by=nccl,collnet=1", "collnet=enable, got \"collnet=1\""));
  // NCCL's copy engines write into registered windows.
  CHECK(refused("auto:by=nccl,cta_policy=zero", "needs windows=symmetric"));
}

TEST_CASE("what is meant as a choice begins with auto") {
  CHECK(is_automatic("auto"));
  CHECK(is_automatic("auto:by=nccl"));
  CHECK_FALSE(is_automatic("automatic"));
  CHECK_FALSE(is_automatic("ring"));
}

}  // namespace
}  // namespace lockstep
