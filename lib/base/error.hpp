#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace ckpt {

/// What went wrong decides how a program ends: usage and layout with 2, a signal with 128 and its number, the rest
/// with 1.
enum class Kind {
  usage,        ///< the command line
  layout,       ///< a layout, by itself or for the tensors it is to hold
  input,        ///< the source checkpoint, or its disagreement with its layout
  io,           ///< the system refused to read or write
  peer,         ///< another process failed or was lost
  interrupted,  ///< SIGINT
  terminated,   ///< SIGTERM
};

/// The one exception of the project. Its message is built as "object: found, expected; remedy".
class Error : public std::exception {
 public:
  struct Text {
    std::string found;     ///< what is there: "stored shape [512, 4096]"
    std::string expected;  ///< what ought to be: "layout a.json expects [1024, 4096]"; may be empty
    std::string remedy;    ///< what to do: "was it saved with tp=8?"; may be empty
  };

  Error(Kind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  Error(Kind kind, std::string_view object, const Text& text);

  Kind kind() const noexcept { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

  /// Puts the place in front, on the way up: "rank_3.h5: " + what().
  Error& within(std::string_view context);
  /// Puts what can be done behind: what() + "; " + remedy.
  Error& advise(std::string_view remedy);

 private:
  Kind kind_;
  std::string message_;
};

/// An io error for a failed system call: "path: write: No space left on device; remedy".
Error system_error(std::string_view path, std::string_view action, int errno_value, std::string_view remedy = {});

/// Runs `work`; an Error that leaves it gets `context` in front.
template <class Work>
decltype(auto) with_context(std::string_view context, Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    error.within(context);
    throw;
  }
}

}  // namespace ckpt
