#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "frameworks/sidecar.hpp"
#include "store/store.hpp"

namespace ckpt {

/// The files that an output has beside its data files because its source, of the same format, has them. The source must
/// outlive the result.
std::span<const Sidecar> files_of_source(const Checkpoint& source, const Store& format);

/// The names of these files, and of the one by which the framework finds an output of this layout (latest_sidecar).
std::vector<std::string> sidecar_names(const Checkpoint& source, const Layout& target, const Store& format);

/// The names that such files may have when only the layout is known.
std::vector<std::string> sidecar_names(const Layout& target);

}  // namespace ckpt
