#include <doctest/doctest.h>

#include "tests/tools/run_command.hpp"

/// What is wrong in a cluster file: exit 2, nothing on stdout, every problem with its place.
namespace lockstep {

namespace {

const std::string kBuilt = R"({
  "name": "small",
  "device": "host",
  "topology": {
    "builder": "star",
    "link": {"bandwidth": "400 Gb/s", "latency": "1 us"}
  },
  "ranks": 4
}
)";

const std::string kWritten = R"({
  "name": "written out",
  "graph": {
    "vertices": [
      {"id": "a", "kind": "gpu"},
      {"id": "b", "kind": "gpu"},
      {"id": "c", "kind": "gpu"}
    ],
    "cables": [
      {"between": ["a", "b"], "kind": "nvlink", "bandwidth": "25 GB/s", "latency": "600 ns"},
      {"between": ["b", "c"], "kind": "nvlink", "bandwidth": "25 GB/s", "latency": "600 ns"},
      {"between": ["c", "a"], "kind": "nvlink", "bandwidth": "25 GB/s", "latency": "600 ns"}
    ]
  }
}
)";

std::string command_on(const std::string& path) {
  return "lockstep collective all_reduce -b 8 -e 8 --cluster " + path;
}

/// `problems` stand one a line, each after "FILE:".
void check_refused(const std::string& path, const std::vector<std::string>& problems) {
  std::string expected;
  for (const std::string& problem : problems) expected += path + ":" + problem + "\n";
  expected += std::to_string(problems.size()) + (problems.size() == 1 ? " error" : " errors") +
              "; nothing was run\n";
  const CommandResult result = run_command(command_on(path));
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  CHECK(result.err == expected);
}

void check_text_refused(const std::string& text, const std::vector<std::string>& problems) {
  const TemporaryFile file(text);
  check_refused(file.path(), problems);
}

struct Mistake {
  std::string good;
  std::string bad;
  std::string problem;
};

void check_mistakes(const std::string& good, const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.bad);
    check_text_refused(replaced(good, mistake.good, mistake.bad), {mistake.problem});
  }
}

const std::string kRate = "/topology/link/bandwidth: expected a rate such as \"50 GB/s\", got ";
const std::string kRanks = "/ranks: expected an integer from 1 to 16777216, got ";

}  // namespace

TEST_CASE("the files that the mistakes are made in are good ones") {
  for (const std::string& text : {kBuilt, kWritten}) {
    const TemporaryFile file(text);
    CHECK_FALSE(output_of(command_on(file.path())).empty());
  }
}

TEST_CASE("a quantity without its unit, below its least or no number is refused") {
  const std::string good = "\"400 Gb/s\"";
  check_mistakes(
      kBuilt,
      {{good, "400", "6:27: error: " + kRate + "the number 400"},
       {good, "\"400\"", "6:27: error: " + kRate + "\"400\" without a unit"},
       {good, "\"-400 Gb/s\"", "6:27: error: " + kRate + "\"-400 Gb/s\"; it must be above zero"},
       {good, "\"0 Gb/s\"", "6:27: error: " + kRate + "\"0 Gb/s\"; it must be above zero"},
       {good, "\"nan Gb/s\"", "6:27: error: " + kRate + "\"nan Gb/s\""},
       {good, "null", "6:27: error: " + kRate + "null"},
       {good, "NaN", "6:27: error: expected a value, got \"NaN\""},
       {"\"1 us\"", "\"-1 us\"",
        "6:50: error: /topology/link/latency: expected a duration such as \"2 us\", got \"-1 us\"; "
        "it must not be negative"},
       {"\"1 us\"", "\"1 us\", \"efficiency\": 1e999", "6:72: error: \"1e999\" is too large"}});
}

TEST_CASE("a value of another type is refused") {
  check_mistakes(kBuilt,
                 {{"4\n", "3.7\n", "8:12: error: " + kRanks + "the number 3.7"},
                  {"4\n", "4.0\n", "8:12: error: " + kRanks + "the number 4.0"},
                  {"4\n", "\"4\"\n", "8:12: error: " + kRanks + "\"4\""},
                  {"4\n", "-1\n", "8:12: error: " + kRanks + "the number -1"},
                  {"4\n", "true\n", "8:12: error: " + kRanks + "true"},
                  {"\"small\"", "7", "2:11: error: /name: expected a text, got the number 7"},
                  {"\"host\"", "[]", "3:13: error: /device: expected a text, got an array"}});
}

TEST_CASE("a key or a name that there is not is refused with the nearest that there is") {
  check_mistakes(
      kBuilt,
      {{"\"ranks\": 4", "\"ranks\": 4, \"sumary\": \"\"",
        "8:15: error: /sumary: unknown key \"sumary\"; did you mean \"summary\"?"},
       {"\"star\"", "\"strar\"",
        "5:16: error: /topology/builder: no topology named \"strar\"; did you mean \"star\"?"},
       {"\"host\"", "\"hots\"",
        "3:13: error: /device: no device named \"hots\"; did you mean \"host\"?"},
       {"\"host\"", "\"../clusters/star\"",
        "3:13: error: /device: no device named \"../clusters/star\"; `lockstep list devices` shows "
        "all 34"},
       {"\"ranks\"", "\"name\"",
        "8:3: error: /name: the key \"name\" was given before, at line 2, "
        "column 3"}});
}

TEST_CASE("a graph that does not hang together is refused") {
  check_mistakes(
      kWritten,
      {{"\"c\", \"kind\": \"gpu\"}",
        "\"c\", \"kind\": \"gpu\"}, {\"id\": \"a\", \"kind\": \"gpu\"}",
        "7:42: error: /graph/vertices/3/id: there is a vertex \"a\" already"},
       {"[\"c\", \"a\"]", "[\"c\", \"aa\"]",
        "12:25: error: /graph/cables/2/between/1: no vertex \"aa\"; did you mean \"a\"?"},
       {"[\"c\", \"a\"]", "[\"c\", \"c\"]",
        "12:19: error: /graph/cables/2/between: a cable joins two different vertices"},
       {"\"nvlink\"", "\"nvlnk\"",
        "10:39: error: /graph/cables/0/kind: no kind of cable named \"nvlnk\"; did you mean "
        "\"nvlink\"?"}});
}

TEST_CASE("a rank that cannot be reached is named") {
  std::string text = replaced(kWritten, "[\"b\", \"c\"]", "[\"b\", \"a\"]");
  text = replaced(text, "[\"c\", \"a\"]", "[\"b\", \"a\"]");
  check_text_refused(text, {"7:7: error: /graph/vertices/2: \"c\" cannot be reached from \"a\" "
                            "through vertices that forward (GPUs do with \"forwards\": true)"});
}

TEST_CASE("all problems of a file are reported at once, whatever the command") {
  std::string text = replaced(kBuilt, "\"400 Gb/s\"", "400");
  text = replaced(text, "\"device\": \"host\"", "\"devize\": \"host\"");
  text = replaced(text, "latency", "latncy");
  text = replaced(text, "4\n", "3.7\n");
  check_text_refused(
      text,
      {"3:3: error: /devize: unknown key \"devize\"; did you mean \"device\"?",
       "6:13: error: /topology/link: the key \"latency\" is missing",
       "6:27: error: " + kRate + "the number 400",
       "6:32: error: /topology/link/latncy: unknown key \"latncy\"; did you mean \"latency\"?",
       "8:12: error: " + kRanks + "the number 3.7"});
  const TemporaryFile file(text);
  const CommandResult shown = run_command("lockstep topology show --cluster " + file.path());
  CHECK(shown.status == 2);
  CHECK(shown.out.empty());
  CHECK(shown.err == run_command(command_on(file.path())).err);
  CHECK(shown.err == run_command(command_on(file.path()) + " --ranks 8").err);
}

TEST_CASE("an unknown device is reported together with the other problems") {
  const std::string text = replaced(replaced(kBuilt, "\"host\"", "\"hots\""), "4\n", "0\n");
  check_text_refused(text,
                     {"3:13: error: /device: no device named \"hots\"; did you mean \"host\"?",
                      "8:12: error: " + kRanks + "the number 0"});
}

TEST_CASE("what is no JSON text is refused where it ceases to be one") {
  check_text_refused("", {"1:1: error: the file is empty"});
  check_text_refused("[]", {"1:1: error: expected an object, got an array"});
  check_text_refused("{\"name\": \"x\",}",
                     {"1:14: error: JSON has no comma before a closing \"}\""});
  check_text_refused("{\"name\": \"x\"",
                     {"1:13: error: expected \",\" or \"}\", got the end of the file"});
  check_text_refused("{\"name\": \"\xff\"}", {"1:11: error: this byte is not valid UTF-8"});
  check_text_refused(std::string(1, '\0'), {"1:1: error: a zero byte: this is not a UTF-8 text"});
}

TEST_CASE("a file that is too deep or too large is refused") {
  check_text_refused(std::string(1'000'000, '['), {"1:65: error: nested deeper than 64 levels"});
  check_text_refused("{\"name\": \"" + std::string(10'000'000, 'x') + "\"}",
                     {" error: larger than 8 MiB"});
}

TEST_CASE("what is no file is refused") {
  check_refused("configs/clusters", {" error: this is a directory; expected a JSON file"});
  check_refused("configs/clusters/stra.json", {" error: no such file"});
}

}  // namespace lockstep
