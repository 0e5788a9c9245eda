#include "tensor/stored_array.hpp"

#include <utility>

namespace ckpt {

StoredArray unreadable(std::string name, const Error& why) {
  StoredArray array;
  array.name = std::move(name);
  array.dtype.name = "unreadable";
  array.shape = {0};
  const Error::Text& text = why.text();
  array.refusal =
      Error(Kind::input, why.object(), {text.found, text.expected, text.remedy, {Advice::What::leave_out, ""}});
  return array;
}

}  // namespace ckpt
