#include "tools/lockstep/run/text/step_words.hpp"

#include <doctest/doctest.h>

namespace lockstep::cli {
namespace {

TEST_CASE("links of a machine calibration: as measured, or why they are the cluster's") {
  using Kind = MachineLinkUse::Kind;
  MachineLinkUse links;
  links.to = 1;
  links.now = {200_GBps, 2_us};
  links.before = {300_GBps, 600_ns};
  links.pairs = 1;
  links.slowest = links.fastest = 200_GBps;
  CHECK(text_of(links) ==
        "NVLinks as measured, 200 GB/s after 2 us from GPU 0 to GPU 1 (else 300 GB/s after 600 "
        "ns): the median of 1 pair");
  links.pairs = 12;
  links.slowest = 100_GBps;
  CHECK(text_of(links).ends_with(": the median of 12 pairs, of 100 to 200 GB/s"));
  const auto text = [](Kind kind) {
    MachineLinkUse of{kind};
    of.measured_device = "NVIDIA A100-SXM4-80GB";
    of.device = "h100-sxm5-80gb";
    return text_of(of);
  };
  CHECK(text(Kind::host) == "as the cluster has them: the calibration is of a host");
  CHECK(text(Kind::one_gpu) == "as the cluster has them: the calibration is of one GPU");
  CHECK(text(Kind::no_nvlink) ==
        "as the cluster has them: no two GPUs of a node are joined by NVLink alone");
  CHECK(text(Kind::other_device) ==
        "as the cluster has them: the calibration is of NVIDIA A100-SXM4-80GB, not of "
        "h100-sxm5-80gb");
}

}  // namespace
}  // namespace lockstep::cli
