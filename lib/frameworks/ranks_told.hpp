#pragma once

#include <string_view>

namespace ckpt {

/// Whether a file of a framework says under this name (of an attribute, or the path of another value) how it is cut: in
/// each file of a checkpoint something else, which follows from how many there are. It is no news where files differ,
/// and no loss.
bool follows_from_ranks(std::string_view name);

}  // namespace ckpt
