#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/language/mesh.hpp"
#include "layout/names/file_template.hpp"

namespace ckpt {

/// One entry of `files`: its path, and the prefix of its names.
struct FileEntry {
  FileTemplate path;
  std::string prefix;
  std::set<std::string> names = {};  ///< arrays that lie in it, whatever the prefixes say; empty: prefixes decide
  std::string group = {};  ///< "rank_{card}/": the group of the file that contains a card's arrays; then there is no
                           ///< prefix
  /// The axes, ascending, whose coordinates occur in names of its arrays (CardNames); cards use them to find their own.
  std::vector<std::size_t> apart = {};

  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

/// The `files` of a layout: which files the cards have. A file is an entry at a position whose coordinate is 0 on every
/// axis that the entry's path does not name. The cards along such an axis share the file, and the one with coordinate 0
/// holds its contents. So a position owns one file of an entry, or none, and no file has two owners. If names of arrays
/// say which card they belong to, each card's part of a file counts as a file of its own: such files have the same
/// path.
class CardFiles {
 public:
  /// One file for each card, rank_{card}.h5.
  CardFiles() : CardFiles({FileEntry{}}) {}
  /// At least one entry, all with different prefixes.
  explicit CardFiles(std::vector<FileEntry> entries) : entries_(std::move(entries)) {}

  const std::vector<FileEntry>& entries() const noexcept { return entries_; }
  /// Returns whether these are the files of a layout that names none.
  bool is_default() const;

  struct File {
    std::size_t entry = 0;
    std::uint64_t position = 0;  ///< position of its owner
    friend bool operator==(const File&, const File&) = default;
  };
  /// Returns all files by number: entry by entry, and by position within each. FileTable looks them up.
  std::vector<File> files(const Mesh& mesh) const;
  std::uint64_t count(const Mesh& mesh) const;

  /// Returns the path, relative to the checkpoint's directory, of an entry's file that a position owns or shares.
  std::string path(const Mesh& mesh, std::uint64_t position, std::size_t entry = 0) const {
    return entries_[entry].path.path(mesh, position);
  }

  /// Returns the paths of all files, by number.
  std::vector<std::string> paths(const Mesh& mesh) const;

  /// Returns the entry that contains an array of this (prefixed) name: the one that names it, or else the one with the
  /// longest prefix that matches; nothing if none matches.
  std::optional<std::size_t> entry_of(const std::string& stored) const;
  /// Returns the array's name within that file.
  std::string name_within(const std::string& stored) const;
  /// Returns the prefixed name of an array in a file. Throws input if that name belongs in the file of another entry.
  std::string stored_name(std::size_t entry, const std::string& name_within) const;
  /// Returns the array's name within the file of a position.
  std::string name_in_file(const Mesh& mesh, std::uint64_t position, const std::string& stored) const;
  /// "mp_rank_00.h5: /w": returns the place of an array of this name for a position.
  std::string place(const Mesh& mesh, std::uint64_t position, const std::string& stored) const;

  /// Return the axes, ascending and longer than 1, along which cards share an entry's file; and those along which they
  /// share an array of this name in it, since the name may contain coordinates, too.
  std::vector<std::size_t> shared_axes(const Mesh& mesh, std::size_t entry) const;
  std::vector<std::size_t> shared_axes(const Mesh& mesh, std::size_t entry, const std::string& stored) const;
  /// Returns the axes, ascending, along which each coordinate has its own file of an entry.
  std::vector<std::size_t> axes(const Mesh& mesh, std::size_t entry) const;
  std::uint64_t count(const Mesh& mesh, std::size_t entry) const;
  /// Returns whether each card has one file, and each file one card.
  bool is_one_each(const Mesh& mesh) const { return entries_.size() == 1 && shared_axes(mesh, 0).empty(); }

  /// Two files that would have the same path, if there are any.
  struct Collision {
    File first;
    File second;
  };
  std::optional<Collision> collision(const Mesh& mesh) const;

  friend bool operator==(const CardFiles&, const CardFiles&) = default;

 private:
  std::vector<FileEntry> entries_;
};

}  // namespace ckpt
