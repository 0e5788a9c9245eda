#pragma once

#include <string_view>

namespace ckpt {

/// Whether the path of a small value says that it is the progress of training ("global_step", "epoch",
/// "trainer/num_updates"), which all files of one checkpoint must agree on. False for values that each card counts for
/// itself: the position of its data loader, the draws of its random generator.
bool is_progress_name(std::string_view path);

}  // namespace ckpt
