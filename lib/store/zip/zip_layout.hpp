#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace ckpt::torch {

/// The contents of a zip archive, without the bytes of entries that are written later.
struct ZipForm {
  std::vector<FileSegment> segments;  ///< ascending, none empty
  std::uint64_t bytes = 0;            ///< of the whole archive
};

/// Lays out a zip archive whose entries are stored uncompressed, each at a multiple of 64 bytes, as torch.save does.
/// Numbers have 64 bits if necessary.
class ZipLayout {
 public:
  /// `folder` contains all entries.
  explicit ZipLayout(std::string folder) : folder_(std::move(folder)) {}

  /// `add` and `add_room` return the place of the entry's bytes.
  Interval add(std::string_view name, std::string_view bytes);
  /// Adds an entry that is written later and begins with `now`. Its checksum is 0, as nobody knows it yet: torch
  /// ignores it, but `unzip` does not.
  Interval add_room(std::string_view name, std::uint64_t bytes, std::string_view now = {});

  /// Returns the archive with its directory; call it once.
  ZipForm take();

 private:
  Interval add_header(std::string_view name, std::uint64_t bytes, std::uint32_t checksum);
  void put(std::string_view bytes);

  std::string folder_;
  std::string directory_;
  std::uint64_t entries_ = 0;
  std::uint64_t end_ = 0;
  ZipForm form_;
};

}  // namespace ckpt::torch
