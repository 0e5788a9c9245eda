#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace ckpt::torch {

/// What a zip archive holds besides the bytes of entries that are filled later.
struct ZipForm {
  std::vector<Passage> passages;  ///< ascending, none of them empty
  std::uint64_t bytes = 0;        ///< of the whole archive
};

/// Lays out a zip archive whose entries are stored as they are, each at a multiple of 64 as torch.save does. Numbers
/// have 64 bits where they need them.
class ZipLayout {
 public:
  /// `folder`: which all entries are in.
  explicit ZipLayout(std::string folder) : folder_(std::move(folder)) {}

  /// Both give the place of the entry's bytes.
  Interval add(std::string_view name, std::string_view bytes);
  /// An entry that is filled later, with `now` to begin with. Its checksum is 0, as nobody knows it yet: torch does not
  /// look at it, but `unzip` does.
  Interval add_room(std::string_view name, std::uint64_t bytes, std::string_view now = {});

  /// With its directory; once.
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
