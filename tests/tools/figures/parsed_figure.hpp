#pragma once

#include <doctest/doctest.h>

#include <pugixml.hpp>
#include <string>
#include <vector>

namespace lockstep::figures {

/// A figure as XML; the test fails where it is not well formed.
class Parsed {
 public:
  explicit Parsed(const std::string& svg) {
    const pugi::xml_parse_result result = document_.load_string(svg.c_str());
    REQUIRE_MESSAGE(result, result.description());
    REQUIRE(std::string{document_.document_element().name()} == "svg");
  }

  /// Elements of a class, wherever they are.
  [[nodiscard]] std::vector<pugi::xml_node> all(const std::string& kind) const {
    std::vector<pugi::xml_node> out;
    for (const auto& found : document_.select_nodes(("//*[@class='" + kind + "']").c_str()))
      out.push_back(found.node());
    return out;
  }
  [[nodiscard]] bool has_text(const std::string& text) const {
    for (const auto& found : document_.select_nodes("//text"))
      if (found.node().text().get() == text) return true;
    return false;
  }
  [[nodiscard]] pugi::xml_node root() const { return document_.document_element(); }

 private:
  pugi::xml_document document_;
};

}  // namespace lockstep::figures
