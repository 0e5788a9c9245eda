#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ckpt {

Error::Error(Kind kind, std::string_view object, Text text) : kind_(kind), object_(object), text_(std::move(text)) {
  build();
}

Error::Error(Parts parts) {
  std::tie(kind_, object_, text_, file_, parameter_, next_advice_, may_pass_) = std::move(parts);
  build();
}

namespace {

/// A NUL in a name would end the message wherever what() is used as a C string.
std::string with_visible_nuls(std::string text) {
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;) text.replace(at, 1, "\u2400");
  return text;
}

}  // namespace

void Error::build() {
  message_ = object_;
  if (!message_.empty() && !text_.found.empty()) message_ += ": ";
  message_ += text_.found;
  if (!text_.expected.empty()) message_ += (message_.empty() ? "expected " : ", expected ") + text_.expected;
  if (!text_.remedy.empty()) message_ += "; " + text_.remedy;
  message_ = with_visible_nuls(std::move(message_));
}

Error& Error::within(std::string_view context) {
  object_ = object_.empty() ? std::string(context) : std::string(context) + ": " + object_;
  build();
  return *this;
}

Error& Error::advise(std::string_view remedy, Advice advice) {
  if (!remedy.empty()) text_.remedy.append(text_.remedy.empty() ? "" : "; ").append(remedy);
  if (advice.what != Advice::What::none)
    (text_.advice.what == Advice::What::none ? text_.advice : next_advice_) = std::move(advice);
  build();
  return *this;
}

Error& Error::of_kind(Kind kind) {
  kind_ = kind;
  return *this;
}

Error& Error::passing() {
  may_pass_ = true;
  return *this;
}

Error& Error::in_file(std::string_view file) {
  if (file_.empty()) file_ = file;
  return *this;
}

Error& Error::of_parameter(std::string_view parameter) {
  if (parameter_.empty()) parameter_ = parameter;
  return *this;
}

Error system_error(std::string_view path, std::string_view action, int errno_value, std::string_view remedy,
                   Advice advice) {
  Error error(Kind::io, path,
              {std::string(action) + ": " + std::strerror(errno_value), "", std::string(remedy), std::move(advice)});
  error.in_file(path);
  constexpr std::array may_pass{ENOSPC, EDQUOT, ESTALE, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ECONNRESET, ENOTCONN};
  if (std::ranges::find(may_pass, errno_value) != may_pass.end()) error.passing();
  return error;
}

}  // namespace ckpt
