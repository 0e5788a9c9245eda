#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace ckpt::tensorflow {

/// Lays out a new data file: the arrays' data, and the tensors of strings, which are known. Throws input for elements
/// that TensorFlow has no type for.
NewFile form_of(const FileSpec& spec);

/// Lists what a bundle would lose of a specification. Throws as form_of.
std::vector<std::string> losses(const FileSpec& spec);

/// Combines the entries of such files into the index. Throws input if a name occurs twice.
std::string index_text(const std::vector<IndexedFile>& files);

/// Throws input for names that an index cannot have.
void check_names(const std::vector<std::string>& datasets);

}  // namespace ckpt::tensorflow
