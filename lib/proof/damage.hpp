#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace ckpt {

/// Something of a checkpoint that is not as its manifest says.
struct Damage {
  enum class What {
    manifest,  ///< the manifest itself: nothing else can be held against it
    missing,
    surplus,     ///< a file of the same kind that the manifest does not name
    size,        ///< truncated, or grown
    unreadable,  ///< the metadata: `cause` says of which file, and why
    layout,      ///< the file carries another layout: it comes from another run
    swapped,     ///< it holds what the file in `detail` should
    content,     ///< some byte
    keys,        ///< of a table, as they were written: `cause` says which are wrong
    parameter,   ///< the files are what they should be, but what they hold together is not
  };
  What what = What::content;
  std::string file;    ///< empty where it is not one file's
  std::string detail;  ///< what is found, and what was expected
  /// Those that are not what they should be, of what the file holds a part; none: metadata or padding.
  std::vector<std::string> parameters;
  std::optional<Error> cause = {};
};

}  // namespace ckpt
