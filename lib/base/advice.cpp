#include "base/advice.hpp"

#include <algorithm>

namespace ckpt {

Advice leaving_out(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  if (names.empty()) return {};
  if (names.size() > most) return {Advice::What::leave_out, "\n"};  // several without their names
  Advice advice{Advice::What::leave_out, ""};
  for (std::string name : names) {
    std::ranges::replace(name, '\n', '\r');  // no user can type either, and each name has one line
    if (!advice.detail.empty()) advice.detail += '\n';
    advice.detail += name;
  }
  return advice;
}

}  // namespace ckpt
