#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strategies/interop/text/xml_document.hpp"

namespace lockstep {

/// Inclusive range of an integer.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// Elements that are allowed anywhere and ignored.
struct IgnoredElements {
  std::string_view name;
  std::int64_t count = 0;  // met so far
};

/// Reads one element strictly and reports problems with what is allowed. Attributes not read are
/// ignored.
class XmlReader {
 public:
  /// `where` names the element in errors, such as "gpu 3, tb 2"; only called for a problem.
  /// Children in `ignored` are counted and skipped.
  XmlReader(const XmlDocument& document, const XmlElement& element, Problems& problems,
            IgnoredElements& ignored, std::function<std::string()> where = {})
      : document_{&document},
        element_{&element},
        problems_{&problems},
        ignored_{&ignored},
        where_{std::move(where)} {}

  /// Null if there is none.
  [[nodiscard]] const XmlAttribute* find(std::string_view name) const;
  /// Reports a missing attribute.
  [[nodiscard]] const XmlAttribute* required(std::string_view name) const;

  /// Reads an integer in a range; none if the attribute is missing (reported by the first only) or
  /// invalid (reported by both).
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name,
                                                    IntegerRange range) const;
  [[nodiscard]] std::optional<std::int64_t> integer_if_any(std::string_view name,
                                                           IntegerRange range) const;
  /// The index of the name; otherwise reports "no NOUN named ...; did you mean ...?"
  [[nodiscard]] std::optional<std::size_t> one_of(const XmlAttribute& attribute,
                                                  std::string_view noun,
                                                  const std::vector<std::string_view>& names) const;

  /// Calls `visit` with every child called `name`; reports other children.
  template <class Visit>
  void children(std::string_view name, const Visit& visit) const {
    document_->for_each_child(*element_, [&](const XmlElement& child) {
      if (child.name == name) {
        visit(child);
      } else if (!is_ignored(child)) {
        complain_of_child(child, name);
      }
    });
  }
  void no_children() const;

  void complain(std::string message) const { complain(element_->at, std::move(message)); }
  void complain(Position at, std::string message) const;

 private:
  [[nodiscard]] std::optional<std::int64_t> integer_of(const XmlAttribute& attribute,
                                                       IntegerRange range) const;
  void complain_of_child(const XmlElement& child, std::string_view allowed) const;
  /// Counts it if so.
  [[nodiscard]] bool is_ignored(const XmlElement& child) const;

  const XmlDocument* document_;
  const XmlElement* element_;
  Problems* problems_;
  IgnoredElements* ignored_;
  std::function<std::string()> where_;
};

}  // namespace lockstep
