#pragma once

#include <memory>
#include <set>

namespace ckpt {

/// Parts of memory, each of which stays as it is for as long as somebody holds it; each once.
using Lease = std::set<std::shared_ptr<const void>>;

}  // namespace ckpt
