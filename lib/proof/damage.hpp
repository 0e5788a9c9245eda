#pragma once

#include <string>
#include <vector>

namespace ckpt {

/// What of a checkpoint is not as its manifest says.
struct Damage {
  enum class What {
    manifest,  ///< the manifest itself: nothing else can be held against it
    missing,
    surplus,     ///< a file of the same kind that the manifest does not name
    size,        ///< truncated, or grown
    unreadable,  ///< the metadata: `detail` says of which file
    layout,      ///< the file carries another layout: it comes from another run
    swapped,     ///< it holds what the file in `detail` should
    content,     ///< some byte
    parameter,   ///< the files are what they should be, but what they hold together is not
  };
  What what = What::content;
  std::string file;    ///< empty where it is not one file's
  std::string detail;  ///< what is found, and what was expected
  /// Those that are not what they should be, of what the file holds a part; none: metadata or padding.
  std::vector<std::string> parameters;
};

}  // namespace ckpt
