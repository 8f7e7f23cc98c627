#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json/config_error.hpp"

namespace lockstep {

struct XmlAttribute {
  std::string_view name;
  std::string_view value;  // escapes resolved
  Position at;             // of the name
};

struct XmlElement {
  std::string_view name;
  Position at;  // of the opening bracket
  std::uint32_t first_attribute = 0;
  std::uint32_t attributes = 0;
  std::uint32_t end = 0;  // index after the last descendant
};

inline constexpr std::size_t kLargestXml = std::size_t{64} << 20U;  // bytes
inline constexpr std::size_t kDeepestXml = 64;                      // nested elements

/// The elements and attributes of an XML text with their positions, in document order. Comments,
/// declarations and processing instructions are ignored; only XML's predefined entities and
/// character references are supported, and no external files are read.
class XmlDocument {
 public:
  /// `text` in UTF-8. Throws ConfigError on malformed text (the first error), nesting deeper than
  /// kDeepestXml, texts larger than kLargestXml, duplicate attributes, and text outside elements
  /// (all of them).
  XmlDocument(std::string_view text, std::string file);
  XmlDocument(const XmlDocument&) = delete;
  XmlDocument& operator=(const XmlDocument&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const XmlElement& root() const { return elements_.front(); }
  [[nodiscard]] std::span<const XmlAttribute> attributes(const XmlElement& element) const {
    return std::span{attributes_}.subspan(element.first_attribute, element.attributes);
  }
  /// Calls `visit` with every child element of `parent`.
  template <class Visit>
  void for_each_child(const XmlElement& parent, const Visit& visit) const {
    auto child = static_cast<std::size_t>(&parent - elements_.data()) + 1;
    for (; child < parent.end; child = elements_[child].end) visit(elements_[child]);
  }

 private:
  friend class XmlTreeBuilder;

  std::string file_;
  std::string buffer_;  // owns names and values
  std::vector<XmlElement> elements_;
  std::vector<XmlAttribute> attributes_;
};

}  // namespace lockstep
