#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace lockstep {

/// Category of an error, which determines the exit code.
enum class ErrorCode : std::uint8_t {
  invalid_input,    // a file or request is invalid
  negative_result,  // a valid negative result: does not fit, deadlock, wrong numbers, no device
  io,               // writing failed
  internal,         // a bug in Lockstep
};

/// Base of all exceptions of Lockstep. Thrown through its subclasses.
class Error : public std::runtime_error {
 public:
  /// what() is "PLACE: MESSAGE", or MESSAGE alone without a place.
  Error(ErrorCode code, const std::string& message, std::string place = {}, std::string hint = {});

  [[nodiscard]] ErrorCode code() const { return code_; }
  /// The problem, without its place.
  [[nodiscard]] const std::string& message() const { return message_; }
  /// File with line and column, field of a request, or parameter; may be empty.
  [[nodiscard]] const std::string& place() const { return place_; }
  /// How to fix it; may be empty. Not part of what().
  [[nodiscard]] const std::string& hint() const { return hint_; }

 protected:
  /// For errors with their own what().
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

/// A value outside the range of its type, such as a time above 106 days or a rate of zero.
class OutOfRange : public Error {
 public:
  explicit OutOfRange(const std::string& message) : Error{ErrorCode::negative_result, message} {}
};

}  // namespace lockstep
