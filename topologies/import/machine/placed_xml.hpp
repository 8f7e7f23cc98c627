#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "topologies/import/machine/text_places.hpp"

namespace lockstep {

/// An XML document with the positions of elements and attributes. No external files are read, and
/// only XML's predefined entities are expanded.
class PlacedXml {
 public:
  /// Throws ConfigError on malformed text, with the first error.
  PlacedXml(std::string_view text, std::string file);
  PlacedXml(const PlacedXml&) = delete;
  PlacedXml& operator=(const PlacedXml&) = delete;

  /// Its children are the root elements.
  [[nodiscard]] pugi::xml_node top() const { return parsed_; }
  [[nodiscard]] Position at(pugi::xml_node element) const { return at(element.name()); }
  [[nodiscard]] Position at(pugi::xml_attribute attribute) const { return at(attribute.name()); }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  /// Requires a name inside the parsed buffer.
  [[nodiscard]] Position at(const char* name) const;

  std::string file_;
  std::string text_;
  TextPlaces places_;
  std::string buffer_;
  pugi::xml_document parsed_;
};

}  // namespace lockstep
