#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "frameworks/file_beside.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The files that an output of a format has beside those with data since the source, which is of the same format, has
/// them.
std::vector<FileBeside> files_of_source(const Checkpoint& source, const Store& format);

/// All that an output of this layout and format has: these, and one by which the framework finds it.
std::vector<FileBeside> files_beside(const Checkpoint& source, const Layout& target, const Store& format);

/// The names that such files may have where nothing but the layout is known.
std::vector<std::string> names_beside(const Layout& target);

}  // namespace ckpt
