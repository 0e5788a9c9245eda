#pragma once

#include <string_view>

namespace ckpt {

/// Whether the path of a small value says that it is how far the training has come ("global_step", "epoch",
/// "trainer/num_updates"), which all files of one checkpoint say alike. Not what each card counts for itself: where its
/// data loader stands, what its random generator has drawn.
bool is_progress_name(std::string_view path);

}  // namespace ckpt
