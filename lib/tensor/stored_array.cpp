#include "tensor/stored_array.hpp"

#include <utility>

namespace ckpt {

StoredArray unreadable(const std::string& name, const Error& why) {
  StoredArray array;
  array.name = name;
  array.dtype.name = "unreadable";
  array.shape = {0};
  Error::Text text = why.text();
  if (text.advice.what == Advice::What::none) text.advice = {Advice::What::leave_out, ""};
  array.refusal = Error(Kind::input, why.object(), std::move(text));
  return array;
}

}  // namespace ckpt
