#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/file_template.hpp"
#include "layout/mesh.hpp"

namespace ckpt {

/// One entry of `files`: where it lies, and what stands before its names.
struct FileEntry {
  FileTemplate path;
  std::string prefix;
  std::set<std::string> names = {};  ///< the arrays that lie in it whatever prefixes say; empty: prefixes say all
  std::string group = {};  ///< "rank_{card}/": the group of the file in which a card's arrays lie; then no prefix
  /// The axes, ascending, whose coordinates stand in names of its arrays (CardNames), by which cards tell theirs apart.
  std::vector<std::size_t> apart = {};
};

/// `files` of a layout: which files the cards have. A file is an entry at a position whose coordinate is 0 on every
/// axis that the entry's path does not name; the cards along such an axis share it, and what lies in it is held by the
/// one with coordinate 0. So a position owns one file of an entry, or none, and no file has two owners. Where names of
/// arrays say whose they are, the part of a file that is a card's own counts as a file: such files have one path.
class CardFiles {
 public:
  /// One file for each card, rank_{card}.h5.
  CardFiles() : CardFiles({FileEntry{}}) {}
  /// At least one entry, whose prefixes differ.
  explicit CardFiles(std::vector<FileEntry> entries) : entries_(std::move(entries)) {}

  const std::vector<FileEntry>& entries() const noexcept { return entries_; }
  /// Whether these are those of a layout that names none.
  bool is_default() const;

  struct File {
    std::size_t entry = 0;
    std::uint64_t position = 0;  ///< its owner
    friend bool operator==(const File&, const File&) = default;
  };
  /// All files by their numbers: entry by entry, by their positions within each. FileTable looks them up.
  std::vector<File> files(const Mesh& mesh) const;
  std::uint64_t count(const Mesh& mesh) const;

  /// The path, relative to the checkpoint's directory, of the file of an entry that a position owns or shares.
  std::string path(const Mesh& mesh, std::uint64_t position, std::size_t entry = 0) const {
    return entries_[entry].path.path(mesh, position);
  }

  /// The paths of all files, by their numbers.
  std::vector<std::string> paths(const Mesh& mesh) const;

  /// The entry in which an array of this (prefixed) name lies: the one that names it, or that of the longest prefix
  /// that the name begins with; nothing where it begins with none.
  std::optional<std::size_t> entry_of(const std::string& stored) const;
  /// Its name within that file.
  std::string name_within(const std::string& stored) const;
  /// The prefixed name of an array of a file. Throws input where that name belongs in the file of another entry.
  std::string stored_name(std::size_t entry, const std::string& name_within) const;
  /// The same as the file of a position has it.
  std::string name_in_file(const Mesh& mesh, std::uint64_t position, const std::string& stored) const;
  /// "mp_rank_00.h5: /w": where a position has an array of this name.
  std::string place(const Mesh& mesh, std::uint64_t position, const std::string& stored) const;

  /// The axes, ascending and longer than 1, along which cards share an entry's file; and those along which they share
  /// an array of this name in it, which may say coordinates itself.
  std::vector<std::size_t> shared_axes(const Mesh& mesh, std::size_t entry) const;
  std::vector<std::size_t> shared_axes(const Mesh& mesh, std::size_t entry, const std::string& stored) const;
  /// The axes, ascending, of which each coordinate has a file of an entry.
  std::vector<std::size_t> axes(const Mesh& mesh, std::size_t entry) const;
  std::uint64_t count(const Mesh& mesh, std::size_t entry) const;
  /// Whether each card has one file, and each file one card.
  bool is_one_each(const Mesh& mesh) const { return entries_.size() == 1 && shared_axes(mesh, 0).empty(); }

  /// Two files that would have one path, if there are any.
  struct Collision {
    File first;
    File second;
  };
  std::optional<Collision> collision(const Mesh& mesh) const;

 private:
  std::vector<FileEntry> entries_;
};

}  // namespace ckpt
