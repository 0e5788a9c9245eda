#include "tensor/unreadable.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace ckpt {

namespace {

constexpr std::string_view type_name = "unreadable";

}  // namespace

StoredArray unreadable(std::string name, const Error& why) {
  DType type;
  type.name = type_name;
  // Each part ends with a zero byte, which no message has.
  for (const std::string* part : {&why.object(), &why.text().found, &why.text().expected, &why.text().remedy})
    type.native.append(*part).push_back('\0');
  return {std::move(name), std::move(type), {0}, std::nullopt, false};
}

std::optional<Error> why_unreadable(const StoredArray& array) {
  if (array.dtype.name != type_name || array.dtype.native.empty()) return std::nullopt;
  std::array<std::string, 4> parts;
  std::size_t at = 0;
  for (std::string& part : parts) {
    const std::size_t end = std::min(array.dtype.native.find('\0', at), array.dtype.native.size());
    part = array.dtype.native.substr(at, end - at);
    at = std::min(end + 1, array.dtype.native.size());
  }
  return Error(Kind::input, parts[0], {parts[1], parts[2], parts[3], {Advice::What::leave_out, ""}});
}

}  // namespace ckpt
