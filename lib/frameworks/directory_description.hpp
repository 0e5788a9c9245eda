#pragma once

#include <map>
#include <string>
#include <vector>

#include "frameworks/sidecar.hpp"
#include "layout/language/layout.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// A file of a checkpoint, with its content according to the directory's own metadata.
struct DescribedFile {
  std::string name;  ///< in the layout
  std::string path;  ///< relative to the directory; several may share it
  FileCatalog catalog;
};

/// A checkpoint's description from the framework's own metadata.
struct DirectoryDescription {
  Layout layout;
  /// The rules for other cards: `layout` without what merely follows from where the framework put things.
  Layout elsewhere;
  std::vector<DescribedFile> files;                 ///< by their numbers in `layout`
  std::vector<std::string> left_out;                ///< values that no catalog can hold: "rng (numpy.ndarray)"
  std::vector<Sidecar> sidecars;                    ///< another checkpoint of the same form gets these unchanged; the
                                                    ///< leaves that they name are in them, not in `files`
  std::map<std::string, std::string> masters = {};  ///< best sources of the whole model's tensors, by the tensors'
                                                    ///< names: master weights, weights that others are tied to
  bool completes_given = false;                     ///< `layout` has the rules of a given one
  std::vector<std::string> others = {};             ///< files beside these, of other checkpoints or in `left_out`
};

}  // namespace ckpt
