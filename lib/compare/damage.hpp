#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace ckpt {

/// A part of a checkpoint that is not as its manifest says.
struct Damage {
  enum class What {
    manifest,  ///< the manifest itself: nothing else can be compared with it
    missing,
    surplus,     ///< a file of the same kind that the manifest does not name
    size,        ///< truncated, or grown
    unreadable,  ///< the metadata: `cause` says which file's, and why
    layout,      ///< the file carries another layout: it comes from another run
    swapped,     ///< it has the content of the file in `detail`
    content,     ///< some byte
    keys,        ///< a table's keys, as they were written: `cause` says which are wrong
    parameter,   ///< the files are as they should be, but together they hold a wrong parameter
  };
  What what = What::content;
  std::string file;    ///< empty if it is not one file's
  std::string detail;  ///< what was found, and what was expected
  /// The wrong parameters of which the file holds a part; empty: the damage is in metadata or padding.
  std::vector<std::string> parameters;
  std::optional<Error> cause = {};
};

}  // namespace ckpt
