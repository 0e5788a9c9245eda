#include "tensor/stored_array.hpp"

#include <utility>

namespace ckpt {

StoredArray unreadable(std::string name, const Error& why) {
  StoredArray array;
  array.name = std::move(name);
  array.dtype.name = "unreadable";
  array.shape = {0};
  Error refusal(Kind::input, why.object(), why.text());
  if (why.text().advice.what == Advice::What::none) refusal.advise("", {Advice::What::leave_out, ""});
  array.refusal = std::move(refusal);
  return array;
}

}  // namespace ckpt
