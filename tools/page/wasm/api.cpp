// The functions that the page calls: lockstep_answer() with a request as JSON gives the answer as
// JSON.
#include <exception>
#include <string>

#include "tools/app/json.hpp"
#include "tools/lockstep/teach/answer.hpp"

extern "C" {

/// {"answer": ...}, or {"error": "..."} for a request that cannot be answered. Valid until the next
/// call. No exception reaches the page.
__attribute__((used, visibility("default"))) const char* lockstep_answer(const char* request) {
  static std::string out;
  try {
    out = R"({"answer":)" + lockstep::cli::answer(request) + "}";
  } catch (const std::exception& error) {
    out = lockstep::app::Json{{"error", error.what()}}.dump();
  }
  return out.c_str();
}
}
