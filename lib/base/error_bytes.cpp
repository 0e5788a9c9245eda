#include "base/error_bytes.hpp"

#include <utility>

namespace ckpt {

namespace {

void put(ByteWriter& out, const Advice& advice) {
  out.number(static_cast<std::uint64_t>(advice.what));
  out.text(advice.detail);
}

Advice get_advice(ByteReader& in) {
  Advice advice;
  advice.what = in.choice(Advice::What::more_patience);
  advice.detail = in.text();
  return advice;
}

}  // namespace

void put(ByteWriter& out, const Error& error) {
  const Error::Text& text = error.text();
  out.number(static_cast<std::uint64_t>(error.kind()));
  for (const auto* part :
       {&error.object(), &text.found, &text.expected, &text.remedy, &error.file(), &error.parameter()})
    out.text(*part);
  put(out, text.advice);
  put(out, error.next_advice());
}

Error get_error(ByteReader& in) {
  const Kind kind = in.choice(Kind::terminated);
  const std::string object = in.text();
  Error::Text text;
  for (std::string* part : {&text.found, &text.expected, &text.remedy}) *part = in.text();
  const std::string file = in.text();
  const std::string parameter = in.text();
  text.advice = get_advice(in);
  Error error(kind, object, std::move(text));
  error.in_file(file).of_parameter(parameter).advise("", get_advice(in));
  return error;
}

}  // namespace ckpt
