#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/boxed_optional.hpp"
#include "layout/placement/placement.hpp"

namespace ckpt {

/// The number of a checkpoint's file in CardFiles.
using FileNumber = std::uint64_t;

/// An index of a layout's files, for lookup in constant time.
class FileTable {
 public:
  FileTable() = default;
  explicit FileTable(const Layout& layout);

  std::uint64_t count() const noexcept { return files_.size(); }
  Position owner(FileNumber file) const { return files_[file].position; }
  std::size_t entry(FileNumber file) const { return files_[file].entry; }
  /// Returns the file of an entry that a card owns or shares.
  FileNumber of(Position card, std::size_t entry) const { return of_card_[card * entries_ + entry]; }
  /// Returns the files that a card owns, ascending.
  std::vector<FileNumber> owned_by(Position card) const;

 private:
  std::size_t entries_ = 0;
  std::vector<CardFiles::File> files_;
  std::vector<FileNumber> of_card_;  // card by card, one for each entry
};

/// Finds the arrays of a placement, which must outlive it: in which file of a card, and by which name there.
class ArrayFiles {
 public:
  explicit ArrayFiles(const Placement& placement);

  const FileTable& table() const noexcept { return table_; }
  /// Returns the file of a card that holds an array.
  FileNumber file(Position card, ArrayId array) const { return table_.of(card, arrays_[array].entry); }
  std::size_t entry(ArrayId array) const { return arrays_[array].entry; }
  const std::string& name(ArrayId array) const {
    const auto& other = arrays_[array].name;
    return other ? *other : placement_->arrays()[array].name.str();
  }

 private:
  struct Array {
    std::size_t entry;
    BoxedOptional<std::string> name;  // its name within the file, if that differs from the placement's
  };
  const Placement* placement_;
  FileTable table_;
  std::vector<Array> arrays_;
};

}  // namespace ckpt
