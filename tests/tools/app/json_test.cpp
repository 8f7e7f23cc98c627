#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tools/app/json.hpp"

namespace lockstep::app {

TEST_CASE("a list of pairs with names is an object, any other an array") {
  CHECK(Json{{"a", 1}, {"b", 2.5}}.dump() == R"({"a":1,"b":2.5})");
  CHECK(Json({1, 2}).dump() == "[1,2]");
  CHECK(Json({"a", "b"}).dump() == R"(["a","b"])");
  CHECK(Json{{"list", {1, "x", nullptr}}, {"deep", {{"c", true}}}}.dump() ==
        R"({"list":[1,"x",null],"deep":{"c":true}})");
  CHECK(Json(std::vector<std::string>{"x", "y"}).dump() == R"(["x","y"])");
  CHECK(Json::array().dump() == "[]");
  CHECK(Json::object().dump() == "{}");
  CHECK(Json().dump() == "null");
}

TEST_CASE("members keep the order in which they were added") {
  Json out;
  out["z"] = 1;
  out["a"] = "text";
  out["z"] = 2;
  out.update({{"m", false}, {"a", nullptr}});
  CHECK(out.dump() == R"({"z":2,"a":null,"m":false})");
  out.erase("z");
  CHECK(out.dump() == R"({"a":null,"m":false})");
  CHECK(out.at("m").dump() == "false");
}

TEST_CASE("numbers are written so that they read back as the same") {
  CHECK(Json(0.1).dump() == "0.1");
  CHECK(Json(1.0).dump() == "1.0");
  CHECK(Json(std::uint64_t{18446744073709551615U}).dump() == "18446744073709551615");
  CHECK(Json(std::int64_t{-5}).dump() == "-5");
  const std::string text = R"({"a":[1,2.5,-3],"b":{"c":1e-12}})";
  CHECK(Json::parse(text).dump() == text);
}

TEST_CASE("text is escaped, and bytes that are no UTF-8 are replaced") {
  CHECK(Json("a\"b\n").dump() == R"("a\"b\n")");
  CHECK(Json("\xff").dump() == "\"\xEF\xBF\xBD\"");
}

TEST_CASE("indented text has a member a line") {
  CHECK(Json{{"a", {1, 2}}}.dump(2) == "{\n  \"a\": [\n    1,\n    2\n  ]\n}");
}

}  // namespace lockstep::app
