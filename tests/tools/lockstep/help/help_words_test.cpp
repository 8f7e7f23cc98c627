#include <doctest/doctest.h>
#include <algorithm>
#include <string>

#include "sim/config/key_aliases.hpp"
#include "tests/tools/run_command.hpp"
#include "tools/lockstep/help/key_help.hpp"
#include "tools/lockstep/help/words.hpp"

namespace lockstep {

namespace {

std::vector<cli::Word> all_words() {
  std::vector<cli::Word> out;
  for (const cli::WordTopic& topic : cli::word_topics())
    out.insert(out.end(), topic.words.begin(), topic.words.end());
  return out;
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    out.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return out;
}

}  // namespace

TEST_CASE("help lists every command and every word") {
  const std::string text = output_of("COLUMNS=1000 lockstep help");
  for (const std::string command : {"collective", "run", "verify", "help"})
    CHECK(contains(text, "\n  " + command + " "));
  for (const cli::Word& word : all_words()) CHECK_MESSAGE(contains(text, word.name), word.name);
}

TEST_CASE("every word leads to itself, and what it refers to can be looked up") {
  REQUIRE(all_words().size() >= 60);
  for (const cli::Word& word : all_words()) {
    CAPTURE(std::string{word.name});
    const cli::Word* found = cli::find_word(word.name);
    REQUIRE(found != nullptr);
    CHECK(found->name == word.name);
    CHECK(word.text.size() > 20);
    CHECK(word.text.back() == '.');
    CHECK_FALSE(word.see_also.empty());
    for (const std::string& name : names_in(word.see_also)) {
      CAPTURE(name);
      const cli::Word* other = cli::find_word(name);
      REQUIRE(other != nullptr);
      CHECK(other->name != word.name);
    }
    for (const std::string& name : names_in(word.other_names)) {
      CAPTURE(name);
      REQUIRE(cli::find_word(name) != nullptr);
      CHECK(cli::find_word(name)->name == word.name);
    }
  }
}

TEST_CASE("every column of the table of a collective can be looked up") {
  const std::string command = "lockstep collective all_reduce --cluster star -a ring,naive ";
  const std::string heading = lines_of(output_of(command + "--load --format md"))[0];
  std::size_t columns = 0;
  for (std::size_t at = heading.find("| ") + 2; at < heading.size();) {
    std::string name = heading.substr(at, heading.find(" |", at) - at);
    at += name.size() + 3;
    name = name.substr(0, name.find(" ("));
    if (name == "type") continue;  // an element type
    ++columns;
    CAPTURE(name);
    CHECK(cli::find_word(name) != nullptr);
  }
  CHECK(columns >= 18);
}

TEST_CASE("every time, size and share among the columns of a step can be looked up as it is") {
  const std::string heading =
      lines_of(output_of("lockstep run mlp-two-gpus --format csv"))[0].substr(0);
  const std::size_t first = heading.find("fidelity,");
  REQUIRE(first != std::string::npos);
  std::size_t columns = 0;
  for (std::size_t at = first; at < heading.size(); ++columns) {
    const std::size_t end = std::min(heading.find(',', at), heading.size());
    const std::string name = heading.substr(at, end - at);
    CAPTURE(name);
    if (name != "memory") CHECK(cli::find_word(name) != nullptr);
    at = end + 1;
  }
  CHECK(columns >= 20);
  const auto name_of = [](const char* key) { return cli::find_word(key)->name; };
  CHECK(name_of("busbw_Bps") == "busbw");
  CHECK(name_of("mfu_fraction") == "MFU");
  CHECK(name_of("step_time_s") == "step time");
  CHECK(name_of("peak_memory_bytes") == "peak memory");
  CHECK(cli::find_word("_s") == nullptr);
}

TEST_CASE("a word is explained with its formula, in any spelling") {
  const std::string text = output_of("COLUMNS=80 lockstep help busbw");
  // nccl-tests, doc/PERFORMANCE.md: all_reduce 2(n-1)/n.
  CHECK(contains(text, "2(n-1)/n for all_reduce"));
  CHECK(contains(text, "see also: algbw, bound"));
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 80);
  CHECK(output_of("lockstep help limited by") == output_of("lockstep help limited_by"));
  CHECK(output_of("lockstep help MFU") == output_of("lockstep help mfu"));
}

// Meaning, range and default of configs/schema/scenario.schema.json.
TEST_CASE("a key of a scenario is explained with its values and its default") {
  const std::string text = output_of("COLUMNS=80 lockstep help parallel.vpp");
  CHECK(text.rfind("parallel.vpp\n", 0) == 0);
  CHECK(contains(text,
                 "Model chunks per pipeline stage, for interleaved and V schedules (default: 1;"));
  CHECK(contains(text, "values: integer, 1 to 100000"));
  CHECK(contains(text, "override: --set parallel.vpp=VALUE"));
  CHECK(contains(text, "virtual_pipeline_model_parallel_size"));
  for (const std::string& line : lines_of(text)) CHECK(line.size() <= 80);
  CHECK(output_of("lockstep help micro_batch") == output_of("lockstep help parallel.micro_batch"));
  CHECK(contains(output_of("lockstep help parallel.zero"), "integer, 0 to 3"));
  CHECK(contains(output_of("lockstep help cluster.nodes"), "Number of nodes"));
  CHECK(contains(output_of("lockstep help model.experts.top_k"), "Routed experts per token"));
  CHECK(contains(output_of("lockstep help parallel"), "keys: dp, tp, pp, cp"));
  CHECK(contains(output_of("lockstep help parallel.recompute"), "values: none, selective, "));
  CHECK(contains(output_of("lockstep help tp"), "tensor parallelism\n"));  // the word, then the key
  CHECK(contains(output_of("lockstep help tp"), "\n\nparallel.tp\n"));
  CHECK(contains(output_of("lockstep help model"),
                 "keys: name, source, family, kind, layers, hidden"));
  CHECK(contains(output_of("lockstep help virtual_stages"),
                 "virtual_stages is \"parallel.vpp\" in Lockstep"));
  CHECK(json_of(std::string{"lockstep help parallel.vpp"})["rows"][0]["topic"] == "key");
  CHECK(run_command("lockstep help parallel.foo").status == 2);
}

TEST_CASE("every name of another tool leads to a key that exists") {
  for (const KeyAlias& each : key_aliases()) {
    CAPTURE(each.alias);
    const auto found = cli::find_key_help(each.path);
    REQUIRE(found);
    CHECK(found->path == each.path);
    CHECK(find_key_alias(each.alias) == &each);  // none twice
  }
}

TEST_CASE("help on a command is its --help") {
  CHECK(output_of("lockstep help topology show") == output_of("lockstep topology show --help"));
}

TEST_CASE("help on what there is no entry of names the nearest") {
  const CommandResult result = run_command("lockstep help buswb");
  CHECK(result.status == 2);
  CHECK(result.err == "lockstep: error: no help on \"buswb\"; did you mean \"busbw\"?\n");
  CHECK(contains(run_command("lockstep help colective").err, "did you mean \"collective\"?"));
  CHECK(
      run_command("lockstep help h100").err ==
      "lockstep: error: no word \"h100\", but one of the devices: `lockstep list devices h100`\n");
  CHECK(run_command("lockstep help --format json").status == 0);
}

TEST_CASE("as Markdown help prints every entry") {
  const std::string text = output_of("lockstep help --format md");
  for (const cli::Word& word : all_words()) {
    CHECK_MESSAGE(contains(text, "### " + std::string{word.name} + "\n"), word.name);
    CHECK(contains(text, word.text));
  }
}

}  // namespace lockstep
