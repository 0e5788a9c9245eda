#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "frameworks/directory_description.hpp"
#include "store/store.hpp"

namespace ckpt {

struct Framework;

/// A directory with its own metadata, which says what all its files hold. A new framework is a file beside this one and
/// a line in describe.cpp.
class SelfDescribed {
 public:
  /// Whether a path names one checkpoint among others of a directory, as some frameworks' users do: by what its files'
  /// names begin with, or by one of them. `find` takes such a path, too; its files lie in the path's directory.
  static bool is_part(const std::filesystem::path& path);

  /// Recognises a directory by its files' names, without reading them; returns nothing if it has no such metadata.
  static std::optional<SelfDescribed> find(const std::filesystem::path& directory);

  /// The framework's name, as its users write it.
  const char* name() const noexcept;
  /// Whether a layout suffices to read its files, without the metadata.
  bool has_plain_files() const noexcept;
  /// Whether it was never finished, as far as its names and times say: `describe` throws.
  bool is_unfinished() const;
  /// Whether `complete` makes this layout the directory's: it names no files, and the metadata supply the rest.
  bool completes(const Layout& given) const;

  /// Throws input if the directory is unfinished or contradicts itself.
  DirectoryDescription describe(SourceStore& store) const;
  /// As `describe`, with a layout that it `completes`. Throws layout if that says what it must not.
  DirectoryDescription complete(const Layout& given, SourceStore& store) const;

 private:
  SelfDescribed(std::filesystem::path directory, const Framework& framework)
      : directory_(std::move(directory)), framework_(&framework) {}

  std::filesystem::path directory_;
  const Framework* framework_;
};

}  // namespace ckpt
