#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// Returns a text in the form that a shell takes for one word: quoted if necessary.
std::string shell_word(std::string_view text);

}  // namespace ckpt
