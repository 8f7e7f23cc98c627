#include "topologies/files/config_names.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/config/json/config_error.hpp"
#include "tests/topologies/files/schema_agreement.hpp"

/// Short names of shipped files; what each of them stands for is derived from configs/aliases.json
/// and the names of the files in configs/.
namespace lockstep {

namespace {

const std::filesystem::path kConfigs = LOCKSTEP_SOURCE_DIR "/configs";

/// A folder of configs with these two devices and this aliases.json, removed after the test.
class Configs {
 public:
  explicit Configs(const std::string& aliases)
      : path_{std::filesystem::temp_directory_path() /
              ("lockstep-names-" + std::to_string(::getpid()))} {
    std::filesystem::create_directories(path_ / "devices");
    std::ofstream{path_ / "devices" / "alpha-one.json"} << "{}";
    std::ofstream{path_ / "devices" / "alpha-two.json"} << "{}";
    std::ofstream{path_ / "aliases.json"} << aliases;
  }
  Configs(const Configs&) = delete;
  Configs& operator=(const Configs&) = delete;
  ~Configs() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a device is meant by its id, by an alias and by the only beginning") {
  const ConfigNames devices{kConfigs, "devices"};
  CHECK(devices.meant("h100-sxm5-80gb") == "h100-sxm5-80gb");
  CHECK(devices.meant("h100") == "h100-sxm5-80gb");  // an alias, though three ids begin with it
  CHECK(devices.meant("a100") == "a100-sxm4-80gb");
  CHECK(devices.meant("h200") == "h200-sxm5-141gb");
  CHECK(devices.meant("b200") == "b200-sxm-180gb");
  CHECK(devices.meant("gb200") == "gb200-nvl72");
  CHECK(devices.meant("mi300x") == "mi300x-192gb");
  CHECK(devices.meant("mi300") == "mi300x-192gb");
  CHECK(devices.meant("v100-sxm3") == "v100-sxm3-32gb");
}

TEST_CASE("a beginning of several names is ambiguous, one of two characters is none") {
  const ConfigNames devices{kConfigs, "devices"};
  CHECK_FALSE(devices.meant("v100"));
  CHECK(devices.complaint("device", "v100") ==
        "device \"v100\" is ambiguous: v100-sxm2-16gb, v100-sxm2-32gb, v100-sxm3-32gb");
  CHECK_FALSE(devices.meant("mi"));
  CHECK_FALSE(devices.meant(""));
  CHECK(devices.complaint("device", "h10O") == "no device named \"h10O\"; did you mean \"h100\"?");
}

TEST_CASE("frameworks are names of the stack that describes them") {
  const ConfigNames stacks{kConfigs, "stacks"};
  // "Megatron-Core with Transformer Engine", the default stack of transformers in 16 and 8 bits.
  for (const char* name : {"megatron", "megatron-core", "megatron-lm", "te", "nemo"})
    CHECK(stacks.meant(name) == "transformer-engine");
  CHECK(stacks.meant("torchtitan") == "fsdp2");
}

TEST_CASE("of many names the command that lists them is named") {
  const ConfigNames models{kConfigs, "models"};
  CHECK(models.complaint("model", "foo") ==
        "no model named \"foo\"; `lockstep list models` shows all " +
            std::to_string(models.ids().size()));
}

TEST_CASE("every alias that ships stands for a file that ships, and is no file itself") {
  for (const char* folder :
       {"devices", "clusters", "models", "scenarios", "stacks", "precisions"}) {
    CAPTURE(folder);
    const ConfigNames names{kConfigs, folder};  // throws for an alias without its file
    for (const std::string& id : names.ids())
      for (const std::string& alias : names.aliases_of(id))
        CHECK_FALSE(std::filesystem::exists(names.file_of(alias)));
  }
}

TEST_CASE("an alias of no file and an unknown kind of files are errors") {
  const Configs wrong{R"({"devices": {"a": "alpha-on"}, "gadgets": {}})"};
  const std::string file = (wrong.path() / "aliases.json").string();
  CHECK_THROWS_WITH_AS(
      (ConfigNames{wrong.path(), "devices"}),
      (file +
       ":1:19: error: /devices/a: no file in devices named \"alpha-on\"; did you mean "
       "\"alpha-one\"?\n" +
       file +
       ":1:32: error: /gadgets: unknown key \"gadgets\"; allowed are \"$schema\", \"devices\", "
       "\"clusters\", \"models\", \"scenarios\", \"stacks\", \"precisions\", \"spaces\", "
       "\"campaigns\"\n2 errors; nothing was run")
          .c_str(),
      ConfigError);
}

TEST_CASE("the schema of aliases and their reader accept and refuse the same") {
  const SchemaAgreement agreement{kConfigs / "schema" / "aliases.schema.json",
                                  [](std::string_view text) {
                                    const Configs configs{std::string{text}};
                                    (void)ConfigNames{configs.path(), "devices"};
                                  }};
  CHECK(agreement.verdict(R"({"$schema": "x", "devices": {"a": "alpha-one"}})") == "both accept");
  CHECK(agreement.verdict("{}") == "both accept");
  CHECK(agreement.verdict(R"({"gadgets": {}})") == "both refuse");
  CHECK(agreement.verdict(R"({"devices": {"a": 1}})") == "both refuse");
  CHECK(agreement.verdict(R"({"devices": {"a": ""}})") == "both refuse");
  CHECK(agreement.verdict(R"({"models": []})") == "both refuse");
}

}  // namespace lockstep
