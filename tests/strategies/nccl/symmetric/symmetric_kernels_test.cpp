#include "strategies/nccl/symmetric/symmetric_kernels.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/strategies/nccl/nccl_helpers.hpp"

namespace lockstep {
namespace {

const NcclWindows& windows() {
  return tuning_of().windows;
}

NcclSymmetricCase case_of(Collective collective, Bytes size, bool multicast = true,
                          NcclArchitecture architecture = NcclArchitecture::hopper) {
  return {architecture, 8, collective, size, multicast};
}

std::string kernel(const NcclSymmetricCase& of) {
  const auto pick = nccl_symmetric_pick(windows(), of);
  return pick ? std::string{pick->kernel.name} : "none";
}

TEST_CASE("the estimate is base latency and a smooth maximum of zero and the bytes' time") {
  // All-reduce by loads and stores: 2 * 7/8 of 1 GiB at no more than 320 GiB/s, from 7.8 us on:
  // 1.75 GiB / 320 GiB/s = 5468.75 us; the smooth maximum takes 1 us off, fewer CTAs add 2.5 % at
  // most.
  const double gib = 1073741824.0 * 1.75 / (320.0 * 1073741824.0) * 1e6;
  const NcclSymmetricCase of = case_of(Collective::all_reduce, 1_GiB, false);
  const auto all = nccl_symmetric_estimates(windows(), of);
  REQUIRE(all.size() == 2);  // without multicast
  CHECK(all[1].kernel.name == "AllReduce_RSxLD_AGxST");
  const double time = all[1].time.seconds() * 1e6;
  CHECK(time >= 7.8 + gib - 1);
  CHECK(time <= 1.025 * (7.8 + gib));
  // 65 GiB/s a CTA: five would do 325 GiB/s, of which the smooth minimum with 320 leaves less.
  CHECK(all[1].blocks > 5);
  CHECK(all[1].blocks < 64);
}

TEST_CASE("an empty message takes the base latency and what the smooth maximum leaves") {
  // ln(1 + 1/e) = 0.313 us over the base of 4.5 us with flags, 7.8 us without.
  const double over = std::log1p(std::exp(-1.0));
  for (const NcclSymmetricEstimate& each :
       nccl_symmetric_estimates(windows(), case_of(Collective::all_gather, 0_B))) {
    const double base = each.kernel.ll ? 4.5 : 7.8;
    CHECK(each.time.seconds() * 1e6 == doctest::Approx(base + over).epsilon(1e-6));
    CHECK(each.blocks == 1);
  }
}

TEST_CASE("short messages take kernels with flags, long ones those that multicast where they can") {
  for (const bool multicast : {false, true}) {
    CHECK(kernel(case_of(Collective::all_reduce, 256_B, multicast)).starts_with("AllReduce_AGxLL"));
    CHECK(kernel(case_of(Collective::reduce_scatter, 4_KiB, multicast)) == "ReduceScatter_LL");
    CHECK(kernel(case_of(Collective::all_gather, 4_KiB, multicast)).starts_with("AllGather_LL"));
  }
  CHECK(kernel(case_of(Collective::all_reduce, 256_MiB)) == "AllReduce_RSxLDMC_AGxSTMC");
  CHECK(kernel(case_of(Collective::all_gather, 256_MiB)) == "AllGather_STMC");
  CHECK(kernel(case_of(Collective::reduce_scatter, 256_MiB)) == "ReduceScatter_LDMC");
  CHECK(kernel(case_of(Collective::all_reduce, 256_MiB, false)) == "AllReduce_RSxLD_AGxST");
  CHECK(kernel(case_of(Collective::all_gather, 256_MiB, false)) == "AllGather_ST");
  CHECK(kernel(case_of(Collective::reduce_scatter, 256_MiB, false)) == "ReduceScatter_LD");
}

TEST_CASE("multicast divides its CTAs among the ranks") {
  // 16 of Hopper and 32 of Blackwell over 8 ranks.
  for (const auto architecture : {NcclArchitecture::hopper, NcclArchitecture::blackwell}) {
    const auto pick =
        nccl_symmetric_pick(windows(), case_of(Collective::all_reduce, 1_GiB, true, architecture));
    REQUIRE(pick);
    CHECK(pick->blocks <= (architecture == NcclArchitecture::hopper ? 2 : 4));
  }
}

TEST_CASE("other collectives, one rank and older versions have no symmetric kernel") {
  CHECK(kernel(case_of(Collective::broadcast, 1_MiB)) == "none");
  CHECK(kernel(case_of(Collective::all_to_all, 1_MiB)) == "none");
  NcclSymmetricCase alone = case_of(Collective::all_reduce, 1_MiB);
  alone.ranks = 1;
  CHECK(kernel(alone) == "none");
  CHECK_FALSE(
      nccl_symmetric_pick(tuning_of("2.12").windows, case_of(Collective::all_reduce, 1_MiB)));
}

TEST_CASE("copy engines take what they can if no CTA is wanted, and Blackwell's long all-gathers") {
  for (const Collective collective :
       {Collective::all_gather, Collective::all_to_all, Collective::gather, Collective::scatter}) {
    CHECK(nccl_takes_copy_engines(windows(), case_of(collective, 1_KiB), true));
    CHECK_FALSE(nccl_takes_copy_engines(windows(), case_of(collective, 1_GiB), false));
    CHECK_FALSE(
        nccl_takes_copy_engines(tuning_of("2.12").windows, case_of(collective, 1_GiB), true));
  }
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter})
    CHECK_FALSE(nccl_takes_copy_engines(windows(), case_of(collective, 1_GiB), true));
  // Above 8 MiB of a rank: 64 MiB of eight.
  const auto gathers = [](Bytes size) {
    return nccl_takes_copy_engines(
        windows(), case_of(Collective::all_gather, size, true, NcclArchitecture::blackwell), false);
  };
  CHECK_FALSE(gathers(64_MiB));
  CHECK(gathers(65_MiB));
}

}  // namespace
}  // namespace lockstep
