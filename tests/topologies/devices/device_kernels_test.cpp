#include "topologies/devices/device_kernels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/topologies/files/schema_agreement.hpp"

using namespace lockstep;

namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";
const std::filesystem::path kKernels = kConfigs / "kernels";

KernelFigures shipped(const std::string& id) {
  return load_kernel_figures(kKernels / (id + ".json"));
}

KernelFigures figures_from(std::string_view text) {
  return read_kernel_figures(parse_json(text, "k.json"), "k", kKernels);
}

std::string whole() {
  return text_of_file(kKernels / "hopper.json");
}

std::string extending() {
  return text_of_file(kKernels / "hopper-500w.json");
}

std::string error_of(std::string_view text) {
  try {
    (void)figures_from(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

constexpr std::size_t at(Dtype dtype) {
  return static_cast<std::size_t>(dtype);
}

}  // namespace

// Of TPUs and Trainium no kernels have been measured: their collectives can be timed.
TEST_CASE("every GPU names kernels that there are") {
  const std::vector<std::string> ids = kernel_figure_ids(kKernels);
  for (const std::string& id : device_ids(kConfigs / "devices")) {
    CAPTURE(id);
    const Device device = load_device(kConfigs / "devices" / (id + ".json"));
    CHECK(device.configs.lexically_normal() == (kConfigs / "").lexically_normal());
    const bool is_chip = id.rfind("tpu-", 0) == 0 || id.rfind("trainium", 0) == 0;
    if (device.kind == DeviceKind::kHost || is_chip) {
      CHECK(device.kernels.empty());
      continue;
    }
    CHECK(std::find(ids.begin(), ids.end(), device.kernels) != ids.end());
  }
}

TEST_CASE("inherited values of another generation are less sure than its own") {
  const auto of = [](const char* id, const char* pointer) {
    return find_source(shipped(id).sources, pointer)->provenance;
  };
  const auto tiles = [&](const char* id) { return of(id, "/products/bf16/tiles"); };
  CHECK(tiles("hopper") == Provenance::fitted);
  CHECK(tiles("ada") == Provenance::assumed);       // "inherited": "assumed"
  CHECK(tiles("blackwell") == Provenance::fitted);  // its own, but attention is Hopper's
  CHECK(of("blackwell", "/attention/cudnn/head_sizes") == Provenance::assumed);
  CHECK(tiles("ampere-pcie") == Provenance::fitted);  // its own
}

TEST_CASE("shipped kernels have sources, and shares that no device could exceed") {
  for (const std::string& id : kernel_figure_ids(kKernels)) {
    CAPTURE(id);
    const KernelFigures figures = shipped(id);
    CHECK(figures.sources.size() >= 10);
    for (const FigureSource& figure : figures.sources) {
      CHECK(figure.source.size() > 10);
      CHECK(figure.provenance.has_value());
    }
    CHECK((figures.gemms[at(Dtype::bf16)] || figures.gemms[at(Dtype::fp16)]));
    for (const auto& gemms : figures.gemms) {
      if (!gemms) continue;
      for (const TileShape& tile : gemms->tiles) CHECK(tile.efficiency < 1);
      // Smaller tiles read their operands more often, so they are never better.
      for (std::size_t i = 1; i < gemms->tiles.size(); ++i) {
        CHECK(gemms->tiles[i].efficiency <= gemms->tiles[i - 1].efficiency);
      }
    }
    for (const auto& [name, attention] : figures.attention) {
      for (const auto& of : attention.head_sizes) CHECK(of.backward < of.forward);
    }
  }
}

TEST_CASE("a file that extends another has what it does not say itself") {
  const KernelFigures hopper = shipped("hopper");
  const KernelFigures slower = shipped("hopper-500w");
  CHECK(slower.launch == hopper.launch);
  CHECK(slower.attention.size() == hopper.attention.size());
  CHECK(slower.memory_efficiency == hopper.memory_efficiency);
  CHECK(slower.gemms[at(Dtype::bf16)]->tiles.front().efficiency <
        hopper.gemms[at(Dtype::bf16)]->tiles.front().efficiency);
}

TEST_CASE("a class may have a memory efficiency of its own") {
  const KernelFigures figures = figures_from(
      mutated(whole(), {"", "/memory_efficiency/embedding",
                        R"({"value": 0.5, "source": "gathers read scattered rows"})"}));
  CHECK(figures.memory_efficiency[static_cast<std::size_t>(OperationClass::embedding)] == 0.5);
  CHECK(figures.memory_efficiency[static_cast<std::size_t>(OperationClass::loss)] ==
        shipped("hopper").memory_efficiency[static_cast<std::size_t>(OperationClass::loss)]);
}

TEST_CASE("mistakes in kernels are reported with their place") {
  CHECK(error_of("{\"name\": \"x\", \"extends\": \"hopper\",\n \"prodcts\": {}}") ==
        "k.json:2:2: error: /prodcts: unknown key \"prodcts\"; did you mean \"products\"?\n"
        "1 error; nothing was run");
  CHECK(error_of(mutated(extending(), {"", "/extends", "\"hoper\""}))
            .find("the file it extends cannot be used") != std::string::npos);
  CHECK(error_of(mutated(whole(), {"", "/attention/flash-2/head_sizes/value",
                                   R"([{"head_size": 64, "forward": 0.5, "backward": 0.4},
                                       {"head_size": 64, "forward": 0.5, "backward": 0.4}])"}))
            .find("head sizes stand in ascending order, each once") != std::string::npos);
}

TEST_CASE("schema and reader accept all shipped kernels and refuse the same changes") {
  const SchemaAgreement both{kConfigs / "schema/kernels.schema.json",
                             [](std::string_view text) { (void)figures_from(text); }};
  for (const std::string& id : kernel_figure_ids(kKernels)) {
    CAPTURE(id);
    CHECK(both.verdict(text_of_file(kKernels / (id + ".json"))) == "both accept");
  }
  for (const Mutation& m : std::vector<Mutation>{
           {"unknown key", "/lanch", "1"},
           {"missing launch", "/launch", ""},
           {"missing source", "/launch/source", ""},
           {"empty source", "/launch/source", "\"\""},
           {"launch as number", "/launch/value", "4.4"},
           {"negative launch", "/launch/value", "\"-1 us\""},
           {"missing products", "/products", ""},
           {"no products", "/products", "{}"},
           {"products of integers", "/products/int8", "{}"},
           {"missing tiles", "/products/bf16/tiles", ""},
           {"no tiles", "/products/bf16/tiles/value", "[]"},
           {"a tile of nothing", "/products/bf16/tiles/value/0/rows", "0"},
           {"efficiency above 1", "/products/bf16/tiles/value/0/efficiency", "1.01"},
           {"efficiency of zero", "/products/bf16/tiles/value/0/efficiency", "0"},
           {"efficiency as text", "/products/bf16/tiles/value/0/efficiency", "\"80 %\""},
           {"unknown key of a tile", "/products/bf16/tiles/value/0/depth", "64"},
           {"3.5 parts", "/products/bf16/parts/value/most", "3.5"},
           {"all of the rate lost", "/products/bf16/load/value/loss", "1"},
           {"no attention", "/attention", "{}"},
           {"unknown implementation", "/attention/flash-9", "{}"},
           {"no head sizes", "/attention/cudnn/head_sizes/value", "[]"},
           {"missing overhead", "/attention/cudnn/overhead_keys/value/forward/causal", ""},
           {"negative overhead", "/attention/cudnn/overhead_keys/value/forward/causal", "-1"},
           {"no efficiency of memory", "/memory_efficiency", "{}"},
           {"unknown class", "/memory_efficiency/matmull", "1"},
           {"memory above its bandwidth", "/memory_efficiency/all/value", "1.5"},
           {"a spread below zero", "/spread/value", "-0.1"},
           {"a spread without a source", "/spread/source", ""},
           {"a speed-up by communication", "/slowdown_while_communicating/value", "0.9"}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(whole(), m)) == "both refuse");
  }
  for (const Mutation& m : std::vector<Mutation>{{"no products of its own", "/products", "{}"},
                                                 {"nothing of its own", "/products", ""}}) {
    CAPTURE(m.name);
    CHECK(both.verdict(mutated(extending(), m)) == "both accept");
  }
}
