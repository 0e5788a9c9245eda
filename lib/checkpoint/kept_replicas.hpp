#pragma once

#include <vector>

#include "layout/language/layout.hpp"
#include "store/catalog.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// Restricts each parameter of which cards lack copies to the cards that hold it: adds a rule with `at` for it. Applies
/// where all files say that they hold only one replica of replicated data (MindSpore's `remove_redundancy`), and where
/// a strategy's .ckpt files, which do not say so, lack copies of which others hold each piece; else returns the layout
/// unchanged. `card_arrays`: what each card holds, by position. Throws layout for a parameter whose cards no `at`
/// describes.
Layout with_kept_replicas(Layout layout, std::vector<FileCatalog>& files, const std::vector<CardArrays>& card_arrays);

}  // namespace ckpt
