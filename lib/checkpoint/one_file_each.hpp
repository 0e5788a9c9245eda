#pragma once

#include "base/error.hpp"
#include "layout/layout.hpp"

namespace ckpt {

/// Throws layout where cards have several files, or share one: what reads and writes files here takes one for each.
inline void check_one_file_each(const Layout& layout) {
  if (!layout.files.is_one_each(layout.mesh))
    throw Error(Kind::layout, layout.origin + ": /files",
                {"found cards with several files, or that share one", "expected a file for each card",
                 "name it by {card}, or by every axis"});
}

}  // namespace ckpt
