#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/stored_sample.hpp"
#include "layout/language/layout.hpp"
#include "tensor/stored_array.hpp"

namespace ckpt {

/// A sample of what a card stores under a name; nothing where this process does not see its file.
using SampleOf = std::function<std::optional<StoredSample>(std::uint64_t position, const std::string& stored)>;

/// Whether files hold whole tensors although a compiler's plan cuts them, as MindSpore saves them with
/// `integrated_save`. Each parameter that the layout cuts must be stored in the shape that the layout states; if it
/// states none, cards that should have different pieces must have equal bytes, not all of one value. `card_arrays`:
/// what each card holds, by position. The first parameter that is stored in pieces ends the search.
bool hold_whole_tensors(const Layout& layout, const std::vector<CardArrays>& card_arrays, const SampleOf& sample);

/// The layout of such files: nothing is cut, and everything lives where it did.
Layout without_cuts(Layout layout);

}  // namespace ckpt
