#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <tuple>

#include "base/advice.hpp"

namespace ckpt {

/// The kind of an error. It determines a program's exit status: 2 for usage and layout, 128 + n for signal n, 75 for
/// peer and for any other error that may pass, 1 for the rest.
enum class Kind {
  usage,        ///< what the job was asked to do
  layout,       ///< a layout, in itself or for the tensors that it should hold
  input,        ///< the source checkpoint, or its disagreement with its layout
  io,           ///< the system refused to read or write
  peer,         ///< another process failed or was lost
  interrupted,  ///< SIGINT
  terminated,   ///< SIGTERM
};

constexpr Kind last_of(Kind) {
  return Kind::terminated;
}

/// The project's one exception type. Its parts are kept apart until it is printed as "OBJECT: FOUND, expected EXPECTED;
/// REMEDY".
class Error : public std::exception {
 public:
  struct Text {
    std::string found;     ///< what is there: "stored shape [512, 4096]"
    std::string expected;  ///< what ought to be: "[1024, 4096] by a.json"; may be empty
    std::string remedy;    ///< what to do: "was it saved with tp=8?"; may be empty
    Advice advice = {};    ///< which of the job's settings to change
  };

  Error(Kind kind, std::string message) : Error(kind, "", {std::move(message), "", ""}) {}
  Error(Kind kind, std::string_view object, Text text);

  /// All parts, for another process (base/wire.hpp).
  using Parts = std::tuple<Kind, std::string, Text, std::string, std::string, Advice, bool>;
  Parts to_wire() const { return {kind_, object_, text_, file_, parameter_, next_advice_, may_pass_}; }
  explicit Error(Parts parts);

  Kind kind() const noexcept { return kind_; }
  const std::string& object() const noexcept { return object_; }
  const Text& text() const noexcept { return text_; }
  /// Return the file and the logical parameter concerned; empty if there is none, or it is not known.
  const std::string& file() const noexcept { return file_; }
  const std::string& parameter() const noexcept { return parameter_; }
  /// Returns whether the job may succeed if it is tried again as it is.
  bool may_pass() const noexcept { return may_pass_ || kind_ == Kind::peer; }
  /// Returns what to do after the text's advice has been followed; none, or a second one.
  const Advice& next_advice() const noexcept { return next_advice_; }
  /// Returns everything except the advice.
  const char* what() const noexcept override { return message_.c_str(); }

  /// Prefixes the place as the error propagates: "rank_3.h5: " + what().
  Error& within(std::string_view context);
  /// Appends a remedy: what() + "; " + remedy. If there is an advice already, the new one comes after it.
  Error& advise(std::string_view remedy, Advice advice = {});
  Error& of_kind(Kind kind);
  /// Marks an error whose cause may be gone when the job is tried again: a full disk, a file that is not there yet.
  Error& passing();
  Error& in_file(std::string_view file);            ///< unless a file is known already
  Error& of_parameter(std::string_view parameter);  ///< unless a parameter is known already

 private:
  void build();

  Kind kind_;
  bool may_pass_ = false;
  std::string object_;
  Text text_;
  std::string file_;
  std::string parameter_;
  std::string message_;
  Advice next_advice_;
};

/// Returns an io error for a failed system call: "path: write: No space left on device; remedy".
Error system_error(std::string_view path, std::string_view action, int errno_value, std::string_view remedy = {},
                   Advice advice = {});

/// Runs `work`, and prefixes `context` to any Error that it throws.
template <class Work>
decltype(auto) with_context(std::string_view context, Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    error.within(context);
    throw;
  }
}

/// Runs `work` on a file: an Error that it throws gets the file as context, and as its file.
template <class Work>
decltype(auto) with_file(std::string_view file, Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    error.within(file).in_file(file);
    throw;
  }
}

/// Runs `work` on a parameter: an Error that it throws gets this parameter, unless it has one already.
template <class Work>
decltype(auto) with_parameter(std::string_view parameter, Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    error.of_parameter(parameter);
    throw;
  }
}

}  // namespace ckpt
