#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/catalog.hpp"
#include "store/tensorflow/bundle.hpp"

namespace ckpt::tensorflow {

/// The name in Schema::format.
inline constexpr const char* format_name = "tensorflow";

/// Where a bundle lies, and what the names of its files begin with.
struct BundlePlace {
  std::filesystem::path directory;
  std::string prefix;

  std::filesystem::path index() const { return directory / (prefix + std::string(index_ending)); }
};

/// What a bundle holds.
struct BundleContents {
  Bundle bundle;                      ///< without the tensors of strings that are leaves
  std::vector<std::uint32_t> slots;   ///< of each data file: the most pieces of one tensor in it
  std::vector<FileCatalog> catalogs;  ///< of each data file one for each slot, which has the tensors' pieces of this
                                      ///< number; the first of all has the leaves
};

/// Reads the index, and the tensors of strings, in a process of its own. Throws input, naming file and tensor, if they
/// contradict each other or data is missing.
BundleContents read_bundle(const BundlePlace& place);

/// Reads the tree of a bundle (SourceStore::tree), in a process of its own. Throws as read_bundle does.
std::string read_tree(const BundlePlace& place);

}  // namespace ckpt::tensorflow
