#include "strategies/nccl/nccl_filter.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace lockstep {
namespace {

/// What is left of the algorithms: wanted ones, and those by default in brackets.
std::string left(const NcclFilters& filters, Collective collective) {
  std::string text;
  for (const NcclAlgorithm algorithm : nccl_values<NcclAlgorithm>()) {
    const NcclRestriction wish = filters[collective].algorithms[algorithm];
    if (wish == NcclRestriction::refused) continue;
    if (!text.empty()) text += ' ';
    const std::string name{nccl_name(algorithm)};
    text += wish == NcclRestriction::wanted ? name : "(" + name + ")";
  }
  return text;
}

std::string left_of(std::string_view algorithms, Collective collective) {
  const ParsedNcclFilters parsed = parse_nccl_filters(algorithms, "");
  CHECK(parsed.errors.empty());
  return left(parsed.filters, collective);
}

/// "NCCL_ALGO:5: message" per error.
std::string errors_of(std::string_view algorithms, std::string_view protocols = "") {
  std::string text;
  for (const NcclChoiceError& error : parse_nccl_filters(algorithms, protocols).errors) {
    text += fmt::format("{}:{}: {}\n", error.variable, error.position, error.message);
  }
  return text;
}

constexpr std::string_view kAllByDefault =
    "(tree) (ring) (collnet_direct) (collnet_chain) (nvls) (nvls_tree) (pat)";

TEST_CASE("nothing written leaves everything by default") {
  CHECK(left_of("", Collective::all_reduce) == kAllByDefault);
  CHECK(left_of("  ", Collective::all_reduce) == kAllByDefault);
}

TEST_CASE("a list allows these alone, for every collective that is chosen for") {
  CHECK(left_of("ring,tree", Collective::all_reduce) == "tree ring");
  CHECK(left_of("Ring, Tree", Collective::broadcast) == "tree ring");
  CHECK(left_of("ring", Collective::all_to_all) == kAllByDefault);
}

TEST_CASE("a caret allows everything else") {
  CHECK(left_of("^tree,NVLSTree", Collective::all_reduce) ==
        "(ring) (collnet_direct) (collnet_chain) (nvls) (pat)");
  CHECK(left_of("^ nvls_tree", Collective::all_reduce) ==
        "(tree) (ring) (collnet_direct) (collnet_chain) (nvls) (pat)");
}

TEST_CASE("entries of one collective replace those of all") {
  const char* text = "ring,tree;allreduce:^tree;reduce_scatter:PAT";
  CHECK(left_of(text, Collective::all_gather) == "tree ring");
  CHECK(left_of(text, Collective::all_reduce) ==
        "(ring) (collnet_direct) (collnet_chain) (nvls) (nvls_tree) (pat)");
  CHECK(left_of(text, Collective::reduce_scatter) == "pat");
}

TEST_CASE("protocols are read alike") {
  const NcclFilters filters = parse_nccl_filters("", "LL128,Simple;broadcast:ll").filters;
  const auto& all = filters[Collective::all_reduce].protocols;
  CHECK(all[NcclProtocol::ll] == NcclRestriction::refused);
  CHECK(all[NcclProtocol::ll128] == NcclRestriction::wanted);
  CHECK(filters[Collective::broadcast].protocols[NcclProtocol::simple] == NcclRestriction::refused);
}

TEST_CASE("mistakes are reported all at once, each with its place") {
  CHECK(errors_of("rng,tree", "LL,LL12") ==
        "NCCL_ALGO:0: no algorithm of NCCL named \"rng\"; did you mean \"ring\"?\n"
        "NCCL_PROTO:3: no protocol of NCCL named \"LL12\"; did you mean \"ll128\"?\n");
  CHECK(errors_of("ring; alreduce:tree") ==
        "NCCL_ALGO:6: no collective that NCCL chooses for named \"alreduce\"; did you mean "
        "\"all_reduce\"?\n");
  CHECK(errors_of("allreduce:ring:tree") ==
        "NCCL_ALGO:15: expected one ':' at most between two ';'\n");
  CHECK(errors_of("ring,").find("NCCL_ALGO:5: ") == 0);
  CHECK(errors_of("^").find("NCCL_ALGO:1: ") == 0);
  CHECK(errors_of(";ring").find("NCCL_ALGO:0: ") == 0);
  CHECK(errors_of("alltoall:ring").find("NCCL_ALGO:0: ") == 0);
}

}  // namespace
}  // namespace lockstep
