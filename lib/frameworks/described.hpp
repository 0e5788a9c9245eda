#pragma once

#include <map>
#include <string>
#include <vector>

#include "frameworks/file_beside.hpp"
#include "layout/layout.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// A file of a checkpoint, as the directory's own metadata tells what is in it.
struct DescribedFile {
  std::string name;  ///< as the layout has it
  std::string path;  ///< relative to the directory; several may share it
  FileCatalog catalog;
};

/// What a framework's directory says of itself.
struct Described {
  Layout layout;
  /// The rules for other cards: `layout` without what follows from where the framework happened to put things.
  Layout elsewhere;
  std::vector<DescribedFile> files;   ///< by the numbers that `layout` gives them
  std::vector<std::string> left_out;  ///< what no catalog can hold: "rng (numpy.ndarray)"
  std::vector<FileBeside> beside;     ///< that another checkpoint of the same form has as they are; in it, and in no
                                      ///< file of `files`, are the leaves that they name
  std::map<std::string, std::string> masters = {};  ///< where the whole model's tensors are best taken from, by their
                                                    ///< names: master weights, weights that others are tied to
  bool completes_given = false;                     ///< `layout` has the rules that somebody gave
};

}  // namespace ckpt
