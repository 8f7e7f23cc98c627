#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace lockstep {

/// Who has to act on an error.
enum class ErrorCode : std::uint8_t {
  invalid_input,    // a file or a request cannot be used as it is
  negative_result,  // a correct answer that is no: does not fit, deadlock, wrong numbers, no device
  io,               // writing failed
  internal,         // a bug in Lockstep
};

/// Base of everything that Lockstep throws. Thrown through its subclasses.
class Error : public std::runtime_error {
 public:
  /// what() is "PLACE: MESSAGE", or MESSAGE alone without a place.
  Error(ErrorCode code, const std::string& message, std::string place = {}, std::string hint = {});

  [[nodiscard]] ErrorCode code() const { return code_; }
  /// The fault, without the place.
  [[nodiscard]] const std::string& message() const { return message_; }
  /// Where it is: a file with line and column, a field of a request, a parameter; may be empty.
  [[nodiscard]] const std::string& place() const { return place_; }
  /// How to fix it; may be empty. Not part of what().
  [[nodiscard]] const std::string& hint() const { return hint_; }

 protected:
  /// With a what() of its own.
  struct Text {
    std::string text;
  };
  Error(ErrorCode code, const Text& text, std::string message, std::string place);

 private:
  ErrorCode code_;
  std::string message_;
  std::string place_;
  std::string hint_;
};

/// A number that does not fit its type, such as a time beyond 106 days or a rate of zero.
class OutOfRange : public Error {
 public:
  explicit OutOfRange(const std::string& message) : Error{ErrorCode::negative_result, message} {}
};

}  // namespace lockstep
