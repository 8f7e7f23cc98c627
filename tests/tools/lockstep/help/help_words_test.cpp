#include <doctest/doctest.h>
#include <algorithm>
#include <string>

#include "tests/tools/run_command.hpp"
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
    // "time" needs no word of its own.
    CHECK((name == "time" || cli::find_word(name) != nullptr));
  }
  CHECK(columns >= 18);
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

TEST_CASE("help on a command is its --help") {
  CHECK(output_of("lockstep help topology show") == output_of("lockstep topology show --help"));
}

TEST_CASE("help on what there is no entry of names the nearest") {
  const CommandResult result = run_command("lockstep help buswb");
  CHECK(result.status == 2);
  CHECK(result.err == "lockstep: error: no help on \"buswb\"; did you mean \"busbw\"?\n");
  CHECK(contains(run_command("lockstep help colective").err, "did you mean \"collective\"?"));
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
