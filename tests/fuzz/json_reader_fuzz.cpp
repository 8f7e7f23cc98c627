#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/config/json/json.hpp"
#include "sim/config/reader.hpp"
#include "topologies/devices/device.hpp"

using namespace lockstep;

namespace {

/// What must hold of every error: it has a problem, each with a place within the text, and says
/// how many there are.
void check(const ConfigError& error) {
  if (error.problems().empty() || error.total() < error.problems().size()) std::abort();
  if (std::string_view{error.what()}.find("nothing was run") == std::string_view::npos)
    std::abort();
  for (const Problem& problem : error.problems()) {
    if (problem.at.line == 0 || problem.at.column == 0 || problem.message.empty()) std::abort();
  }
}

/// Every verb on whatever stands there, into arrays and objects.
void read_anything(const ValueReader& value) {
  (void)value.rate();
  (void)value.duration();
  (void)value.positive_bytes();
  (void)value.integer(1, 8);
  (void)value.number(0, 1);
  (void)value.boolean();
  (void)value.one_of("word", {"ring", "tree"});
  value.array(read_anything);
  value.object([](ObjectReader& in) {
    (void)in.string("name");
    for (const auto& [key, inner] : in.all()) read_anything(inner);
  });
}

template <class Read>
void run(Read read) {
  try {
    read();
  } catch (const ConfigError& error) {
    check(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  run([text] { (void)read_device(parse_json(text, "fuzz"), "fuzz"); });
  run([text] {
    const JsonDocument document = parse_json(text, "fuzz");
    Problems problems{"fuzz"};
    read_anything(ValueReader{&document.root, "", problems});
    problems.throw_if_any();
  });
  return 0;
}
