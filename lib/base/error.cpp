#include "base/error.hpp"

#include <cstring>

namespace ckpt {

namespace {

std::string build(std::string_view object, const Error::Text& text) {
  std::string message(object);
  if (!message.empty() && !text.found.empty()) message += ": ";
  message += text.found;
  if (!text.expected.empty()) message += (message.empty() ? "" : ", ") + text.expected;
  if (!text.remedy.empty()) message += "; " + text.remedy;
  return message;
}

}  // namespace

Error::Error(Kind kind, std::string_view object, const Text& text) : kind_(kind), message_(build(object, text)) {}

Error& Error::within(std::string_view context) {
  message_ = std::string(context) + ": " + message_;
  return *this;
}

Error& Error::advise(std::string_view remedy) {
  message_.append("; ").append(remedy);
  return *this;
}

Error system_error(std::string_view path, std::string_view action, int errno_value, std::string_view remedy) {
  return Error(Kind::io, path, {std::string(action) + ": " + std::strerror(errno_value), "", std::string(remedy)});
}

}  // namespace ckpt
