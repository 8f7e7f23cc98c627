#include "sim/config/json/memory_file.hpp"

#include <doctest/doctest.h>

#include "sim/config/json/json.hpp"

namespace lockstep {

TEST_CASE("a file in memory is read as one of the disk, and is gone with its owner") {
  {
    const MemoryFile file{"<scenario-1>.json", R"({"name": "x"})"};
    const JsonDocument document = read_json("<scenario-1>.json");
    CHECK(document.file == "<scenario-1>.json");
    CHECK(document.root.get_if<JsonObject>()->front().key == "name");
    // A file that names another looks for it in its own folder.
    CHECK(file_exists("configs/scenarios/<scenario-1>.json"));
    const MemoryFile again{"<scenario-1>.json", R"({"name": "x"})"};
  }
  CHECK_FALSE(file_exists("<scenario-1>.json"));
  CHECK_THROWS_AS((void)read_json("<scenario-1>.json"), ConfigError);
}

TEST_CASE("errors of a file in memory have its name and its places") {
  const MemoryFile file{"<scenario-2>.json", "{\n \"a\": 1,\n \"a\": 2}"};
  try {
    (void)read_json("<scenario-2>.json");
    FAIL("read a key twice");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().file == "<scenario-2>.json");
    CHECK(error.problems().front().at.line == 3);
  }
}

TEST_CASE("a file of the disk stays one") {
  CHECK(file_exists(LOCKSTEP_SOURCE_DIR "/README.md"));
  CHECK_FALSE(file_exists(LOCKSTEP_SOURCE_DIR "/none.md"));
  CHECK(memory_file(LOCKSTEP_SOURCE_DIR "/README.md") == nullptr);
}

}  // namespace lockstep
