#include "base/advice.hpp"

namespace ckpt {

Advice leaving_out(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  Advice advice{Advice::What::leave_out, ""};
  if (names.size() > most) {
    advice.detail = "GLOB";
    return advice;
  }
  for (const std::string& name : names) advice.detail += (advice.detail.empty() ? "" : "\n") + name;
  return advice;
}

}  // namespace ckpt
