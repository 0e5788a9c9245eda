#pragma once

#include <vector>

#include "layout/layout.hpp"
#include "store/catalog.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// Where all files say that they hold one replica only of what is replicated (MindSpore's `remove_redundancy`), or
/// where those of a strategy, whose .ckpt files do not say so, lack copies of which others hold each piece: the layout
/// with a rule for each such parameter, by which it lives `at` those cards that have it. Any other layout as it
/// is. `holdings`: what each card holds, by position. Throws layout for parameters whose cards no `at` names.
Layout with_kept_replicas(Layout layout, std::vector<FileCatalog>& files, const std::vector<Holding>& holdings);

}  // namespace ckpt
