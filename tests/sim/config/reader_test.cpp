#include "sim/config/reader.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/complaint.hpp"

using namespace lockstep;

namespace {

template <class Read>
std::string error_of(std::string_view text, Read read) {
  try {
    read_document(parse_json(text, "f"), [&read](ObjectReader& in) {
      read(in);
      return 0;
    });
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// The message that reading the member "x" = `value` gives, without place and count.
template <class Read>
std::string message_for(const std::string& value, Read read) {
  const std::string text = error_of("{\"x\": " + value + "}", read);
  const std::string before = "f:1:7: error: /x: ";
  const std::string after = "\n1 error; nothing was run";
  if (text.substr(0, before.size()) != before) return text;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

void read_rate(ObjectReader& in) {
  (void)in.rate("x");
}
void read_duration(ObjectReader& in) {
  (void)in.duration("x");
}
void read_bytes(ObjectReader& in) {
  (void)in.bytes("x");
}
void read_count(ObjectReader& in) {
  (void)in.integer("x", 1, 8);
}

}  // namespace

TEST_CASE("the error text is exactly what the project promises") {
  const std::string text = error_of(
      "{\n"
      "  \"links\": [{\"bandwidth\": \"1 GB/s\"}, {\"bandwidth\": 50}],\n"
      "  \"algorithm\": \"rng\"\n"
      "}",
      [](ObjectReader& in) {
        // Asked for in another order than written: problems come sorted by place.
        (void)in.one_of("algorithm", "all-reduce", {"tree", "ring"});
        in.array("links", [](const ValueReader& link) {
          link.object([](ObjectReader& l) { (void)l.rate("bandwidth"); });
        });
      });
  CHECK(text ==
        "f:2:52: error: /links/1/bandwidth: expected a rate such as \"50 GB/s\", got the number "
        "50\n"
        "f:3:16: error: /algorithm: no all-reduce named \"rng\"; did you mean \"ring\"?\n"
        "2 errors; nothing was run");
}

TEST_CASE("good values are read as they are") {
  const JsonDocument document = parse_json(
      R"({"$schema": "s", "r": "400 Gb/s", "d": "2 us", "b": "64 MiB", "f": "312 TFLOP/s", "i": 3,
          "n": 0.5, "t": true, "s": "word", "o": {"k": 1}, "a": [1, 2, 3], "nothing": 4})",
      "f");
  const std::int64_t sum = read_document(document, [](ObjectReader& in) {
    CHECK(in.rate("r") == 50_GBps);
    CHECK(in.duration("d") == 2_us);
    CHECK(in.bytes("b") == 64_MiB);
    CHECK(in.flop_rate("f").per_second() == 312e12);
    CHECK(in.integer("i", 1, 8) == 3);
    CHECK(in.number("n", 0, 1) == 0.5);
    CHECK(in.number("i", 0, 10) == 3.0);  // an integer is a number
    CHECK(in.boolean("t"));
    CHECK(in.string("s") == "word");
    CHECK(in.object("o", [](ObjectReader& o) { return o.integer("k", 0, 9); }) == 1);
    std::int64_t total = 0;
    in.array("a", [&total](const ValueReader& v) { total += v.integer(0, 9); });
    in.ignore("nothing");
    return total;
  });
  CHECK(sum == 6);
}

TEST_CASE("absent keys take their default, or nothing, or are missed") {
  const auto read = [](ObjectReader& in) {
    CHECK(in.rate("r", 50_GBps) == 50_GBps);
    CHECK(in.duration("d", 1_us) == 1_us);
    CHECK(in.bytes("b", 8_B) == 8_B);
    CHECK(in.integer("i", 1, 8, 2) == 2);
    CHECK(in.number("n", 0, 1, 0.25) == 0.25);
    CHECK(in.boolean("t", true));
    CHECK(in.string("s", "word") == "word");
    CHECK(in.one_of("w", "colour", {"red", "blue"}, "blue") == "blue");
    CHECK_FALSE(in.optional_rate("r").has_value());
    CHECK_FALSE(in.optional_object("o", [](ObjectReader&) { return 1; }).has_value());
    in.optional_array("a", [](const ValueReader&) { FAIL("no elements"); });
  };
  CHECK(error_of("{}", read) == "accepted");
  CHECK(error_of("{}", read_rate) ==
        "f:1:1: error: the key \"x\" is missing\n1 error; nothing was run");
}

TEST_CASE("null is a wrong value, not an absent one") {
  CHECK(message_for("null", [](ObjectReader& in) { (void)in.optional_rate("x"); }) ==
        "expected a rate such as \"50 GB/s\", got null");
}

TEST_CASE("quantities say what is wrong with them") {
  const std::string rate = "expected a rate such as \"50 GB/s\", got ";
  CHECK(message_for("50", read_rate) == rate + "the number 50");
  CHECK(message_for("5.0e1", read_rate) == rate + "the number 5.0e1");
  CHECK(message_for("[]", read_rate) == rate + "an array");
  CHECK(message_for("\"50\"", read_rate) == rate + "\"50\" without a unit");
  CHECK(message_for("\"0 GB/s\"", read_rate) == rate + "\"0 GB/s\"; it must be above zero");
  CHECK(message_for("\"-1 GB/s\"", read_rate) == rate + "\"-1 GB/s\"; it must be above zero");
  CHECK(message_for("\"50 gb/s\"", read_rate) ==
        rate + "\"50 gb/s\"; no unit \"gb/s\"; did you mean \"Gb/s\"?");
  CHECK(message_for("\"fast\"", read_rate) == rate + "\"fast\"");
  // 2^47 bytes per second is the largest rate that sim/base/units.hpp holds: 140.7 TB/s.
  CHECK(message_for("\"141 TB/s\"", read_rate) ==
        rate + "\"141 TB/s\", which is malformed or out of range");
  CHECK(message_for("\"-1 us\"", read_duration) ==
        "expected a duration such as \"2 us\", got \"-1 us\"; it must not be negative");
  CHECK(message_for("\"1 MiBs\"", read_bytes) ==
        "expected a size such as \"64 MiB\", got \"1 MiBs\"; no unit \"MiBs\"; did you mean "
        "\"MiB\"?");
  CHECK(message_for("\"0 B\"", [](ObjectReader& in) { (void)in.positive_bytes("x"); }) ==
        "expected a size such as \"64 MiB\", got \"0 B\"; it must be above zero");
  CHECK(message_for("\"0 FLOP/s\"", [](ObjectReader& in) { (void)in.flop_rate("x"); }) ==
        "expected a peak such as \"312 TFLOP/s\", got \"0 FLOP/s\"; it must be above zero");
}

TEST_CASE("every unit that a message offers is one that is understood") {
  for (const std::string_view unit : rate_words().units) {
    CHECK(parse_rate("8 " + std::string{unit}).has_value());
  }
  for (const std::string_view unit : duration_words().units) {
    CHECK(parse_duration("8 " + std::string{unit}).has_value());
  }
  for (const std::string_view unit : bytes_words().units) {
    CHECK(parse_bytes("8 " + std::string{unit}).has_value());
  }
  for (const std::string_view unit : flop_rate_words().units) {
    CHECK(parse_flop_rate("8 " + std::string{unit}).has_value());
  }
}

TEST_CASE("where the kind is unknown, the other keys are left alone") {
  CHECK(error_of("{\"kind\": \"trous\", \"sides\": [2, 2]}",
                 [](ObjectReader& in) {
                   CHECK_FALSE(in.kind("kind", "topology", {"ring", "torus"}).has_value());
                 }) ==
        "f:1:10: error: /kind: no topology named \"trous\"; did you mean \"torus\"?\n"
        "1 error; nothing was run");
}

TEST_CASE("integers are exact and within their range") {
  const std::string count = "expected an integer from 1 to 8, got ";
  CHECK(message_for("3.7", read_count) == count + "the number 3.7");
  CHECK(message_for("3.0", read_count) == count + "the number 3.0");
  CHECK(message_for("-1", read_count) == count + "the number -1");
  CHECK(message_for("9", read_count) == count + "the number 9");
  CHECK(message_for("18446744073709551616", read_count) ==
        count + "the number 18446744073709551616");
  CHECK(message_for("\"3\"", read_count) == count + "\"3\"");
  CHECK(message_for("true", read_count) == count + "true");
  CHECK(message_for("0", [](ObjectReader& in) { (void)in.integer("x", 1, INT64_MAX); }) ==
        "expected an integer of at least 1, got the number 0");
  CHECK(message_for("1.5", [](ObjectReader& in) { (void)in.number("x", 0, 1); }) ==
        "expected a number from 0 to 1, got the number 1.5");
}

TEST_CASE("texts, truth values, arrays and objects are distinguished") {
  CHECK(message_for("1", [](ObjectReader& in) { (void)in.string("x"); }) ==
        "expected a text, got the number 1");
  CHECK(message_for("\"\"", [](ObjectReader& in) { (void)in.string("x"); }) ==
        "expected a text that is not empty");
  CHECK(message_for("1", [](ObjectReader& in) { (void)in.boolean("x"); }) ==
        "expected true or false, got the number 1");
  CHECK(message_for("{}", [](ObjectReader& in) { in.array("x", [](const ValueReader&) {}); }) ==
        "expected an array, got an object");
  const auto two_at_most = [](ObjectReader& in) {
    in.array(
        "x", [](const ValueReader& v) { (void)v.integer(0, 9); }, 1, 2);
  };
  CHECK(message_for("[]", two_at_most) == "expected at least 1 element, got 0");
  CHECK(message_for("[1, 2, 3]", two_at_most) == "expected at most 2 elements, got 3");
  CHECK(error_of("[]", [](ObjectReader& in) { (void)in.rate("x"); }) ==
        "f:1:1: error: expected an object, got an array\n1 error; nothing was run");
}

TEST_CASE("names that are not known are refused with the nearest, or with all") {
  const auto read = [](ObjectReader& in) { (void)in.one_of("x", "topology", {"ring", "torus"}); };
  CHECK(message_for("\"trous\"", read) == "no topology named \"trous\"; did you mean \"torus\"?");
  CHECK(message_for("\"mesh\"", read) ==
        "no topology named \"mesh\"; there are \"ring\", \"torus\"");
  CHECK(message_for("7", read) ==
        "expected the name of a topology in double quotes, got the number 7");
}

TEST_CASE("unknown keys are refused at the key") {
  const auto read = [](ObjectReader& in) {
    (void)in.optional_duration("latency");
    (void)in.optional_rate("bandwidth");
  };
  CHECK(error_of("{\n  \"latncy\": \"1 us\"}", read) ==
        "f:2:3: error: /latncy: unknown key \"latncy\"; did you mean \"latency\"?\n"
        "1 error; nothing was run");
  CHECK(error_of("{\"colour\": 1}", read) ==
        "f:1:2: error: /colour: unknown key \"colour\"; allowed are \"$schema\", \"latency\", "
        "\"bandwidth\"\n1 error; nothing was run");
}

TEST_CASE("a missing object is missed once, not once per member") {
  CHECK(error_of("{}", [](ObjectReader& in) {
          in.object("link", [](ObjectReader& link) {
            CHECK(link.rate("bandwidth") == Rate::bytes_per_second(1));  // harmless
            CHECK(link.integer("lanes", 4, 16) == 4);
            link.note("not told");
          });
        }) == "f:1:1: error: the key \"link\" is missing\n1 error; nothing was run");
}

TEST_CASE("callers add problems of their own at a key") {
  CHECK(error_of("{\"gpus\": 12}",
                 [](ObjectReader& in) {
                   (void)in.integer("gpus", 1, 16);
                   in.note("gpus", "12 GPUs do not divide into nodes of 8");
                 }) ==
        "f:1:10: error: /gpus: 12 GPUs do not divide into nodes of 8\n1 error; nothing was run");
}

TEST_CASE("objects with keys of the user's own are read whole") {
  std::vector<std::string> names;
  CHECK(error_of("{\"rails\": {\"r0\": 1, \"r1\": 2}}", [&names](ObjectReader& in) {
          in.object("rails", [&names](ObjectReader& rails) {
            for (const auto& [name, value] : rails.all()) {
              names.push_back(name + "=" + std::to_string(value.integer(0, 9)));
            }
          });
        }) == "accepted");
  CHECK(names == std::vector<std::string>{"r0=1", "r1=2"});
}
