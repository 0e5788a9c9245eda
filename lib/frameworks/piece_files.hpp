#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frameworks/cut_rules.hpp"
#include "frameworks/directory_description.hpp"
#include "store/catalog.hpp"

namespace ckpt {

/// The data files of a directory whose index says which box of which tensor each holds. A file with several pieces of
/// one tensor counts as several files of the layout, its *slots*, of which each has one piece of a tensor.
class PieceFiles {
 public:
  /// `slots`: the most pieces of one tensor in each file. Throws input, naming the object, if that makes too many
  /// cards.
  PieceFiles(std::vector<std::string> paths, const std::vector<std::uint32_t>& slots, const std::string& object,
             const std::string& remedy);

  Position card(std::uint32_t file, std::uint32_t slot) const { return std::uint64_t{file} * most_slots_ + slot; }
  Mesh mesh() const;
  /// The files of the layout; by the template `usual` if that says the same.
  CardFiles files(const std::string& usual) const;
  /// The files with their content; `catalogs`: for each file one for each of its slots, of this format.
  std::vector<DescribedFile> described(std::vector<FileCatalog> catalogs, const std::string& format) const;

 private:
  std::string name(std::uint32_t file, std::uint32_t slot) const;

  std::vector<std::string> paths_;
  std::vector<std::uint32_t> slots_;
  std::uint32_t most_slots_;
};

}  // namespace ckpt
