#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frameworks/cut_rules.hpp"
#include "frameworks/directory_description.hpp"

namespace ckpt {

/// The files of a directory whose metadata say which box of which tensor each file has. A file with several pieces of
/// one tensor has several slots, each of which counts as a card: its catalog has at most one piece of each tensor.
class PieceFiles {
 public:
  /// `names`: the files. `slots`: how many each has, one at least. Throws input, naming `metadata`, if they are too
  /// many for a layout.
  PieceFiles(std::vector<std::string> names, std::vector<std::uint32_t> slots, const std::string& metadata);

  const std::vector<std::string>& names() const noexcept { return names_; }
  Position card(std::uint32_t file, std::uint32_t slot) const { return std::uint64_t{file} * most_slots_ + slot; }

  /// What a directory says of itself, apart from its tensors.
  struct Source {
    std::string metadata;             ///< names it in messages
    std::string origin;               ///< of the layout
    std::string usual = {};           ///< the files' names by a template, "__{card}_0.distcp", if that describes them
    Uneven elsewhere = Uneven::ceil;  ///< how other cards cut what does not divide
  };
  /// Returns the description of such files. `read` returns a catalog for each slot of each file, in this order. Throws
  /// input, naming the metadata, for pieces that do not make up their tensors.
  DirectoryDescription described(const std::vector<CutTensor>& tensors, const Source& source,
                                 const std::function<std::vector<FileCatalog>()>& read) const;

 private:
  Mesh mesh() const;
  std::string slot_name(std::uint32_t file, std::uint32_t slot) const;
  CardFiles files(const std::string& usual) const;

  std::vector<std::string> names_;
  std::vector<std::uint32_t> slots_;
  std::uint32_t most_slots_;
};

/// Returns the catalog of a file of one array, which gets another name and loses everything else that the file has.
FileCatalog under_name(const FileCatalog& catalog, const std::string& name);

/// Describes files of which each holds its tensors whole, as a card. `catalogs` is parallel to `names`.
DirectoryDescription described_whole(std::vector<std::string> names, std::vector<FileCatalog> catalogs,
                                     const std::string& metadata, const std::string& origin);

}  // namespace ckpt
