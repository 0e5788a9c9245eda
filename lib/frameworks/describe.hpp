#pragma once

#include <filesystem>
#include <optional>

#include "frameworks/described.hpp"
#include "store/store.hpp"

namespace ckpt {

struct Framework;

/// A directory with metadata of its own that says what all its files hold. A new framework is a file beside this one,
/// and a line in describe.cpp.
class SelfDescribed {
 public:
  /// Nothing where a directory has none, by its files' names: told at once.
  static std::optional<SelfDescribed> find(const std::filesystem::path& directory);

  /// Whether its files can be read without, by a layout.
  bool has_plain_files() const noexcept;
  /// Whether `complete` makes this layout the directory's: it names no files, and the metadata say all but what it
  /// says.
  bool completes(const Layout& given) const;

  /// Throws input for what is unfinished or contradicts itself.
  Described describe(SourceStore& store) const;
  /// The same with a layout that it `completes`. Throws layout for one that says what it must not.
  Described complete(const Layout& given, SourceStore& store) const;

 private:
  SelfDescribed(const std::filesystem::path& directory, const Framework& framework)
      : directory_(directory), framework_(&framework) {}

  std::filesystem::path directory_;
  const Framework* framework_;
};

}  // namespace ckpt
