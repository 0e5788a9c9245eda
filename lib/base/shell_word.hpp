#pragma once

#include <string>
#include <string_view>

namespace ckpt {

/// A text as a shell takes it for one word: in quotes where it has to be.
std::string shell_word(std::string_view text);

}  // namespace ckpt
