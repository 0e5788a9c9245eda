#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace ckpt::orbax {

/// Lays out a new data file: the arrays' data, one behind the other. Throws input for elements that zarr has no type
/// for.
NewFile form_of(const FileSpec& spec);

/// Lists what an item would lose of a specification: attributes, and arrays without elements, which Orbax refuses.
/// Throws as form_of.
std::vector<std::string> losses(const FileSpec& spec);

/// The name that a tensor of another format gets: keys are joined by dots, not slashes.
std::string tensor_name(const std::string& name);

/// The names of the files of `index_texts` besides the manifest.
std::vector<std::string_view> companions();

/// Throws input for names that no tree has.
void check_names(const std::vector<std::string>& datasets);

/// Throws input for tensors that no item can list together: one whose name is the beginning of another's keys, or
/// pieces (padded, where they are) that are cut so unevenly that there would be millions of chunks.
void check_tensors(const std::vector<IndexedTensor>& tensors);

/// Makes the files that describe such data files: the B+tree's node, the tree, and the manifest last. Each array is
/// stored in chunks of zarr 2, as large as all its pieces allow. Throws input if a name occurs twice.
std::vector<DirectoryIndex::Text> index_texts(const std::vector<IndexedFile>& files);

}  // namespace ckpt::orbax
