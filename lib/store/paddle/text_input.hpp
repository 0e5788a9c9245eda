#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/paddle/inflater.hpp"
#include "store/posix_file.hpp"

namespace ckpt {

/// Whether a text file's name says that it is compressed.
bool is_gzip_name(std::string_view name);

/// A file's text piece by piece, inflated where its name ends in .gz.
class TextStream {
 public:
  /// From a byte of the file on, of a compressed one from 0.
  TextStream(std::filesystem::path path, std::uint64_t byte, std::size_t piece_bytes);

  /// The next piece, valid until the next call; empty at the end. Throws input, naming the file, for one that is no
  /// whole gzip.
  std::string_view next();
  /// What the file is. Opens it.
  PosixFile::Status status();
  /// Closes the file, and lets go of all memory but what it needs to go on.
  void rest();

 private:
  const PosixFile& file();
  bool read();

  std::filesystem::path path_;
  std::uint64_t at_;  // in the file, of what is not read yet
  std::size_t piece_bytes_;
  std::optional<PosixFile> file_;
  std::uint64_t end_ = 0;
  std::string piece_;
  std::unique_ptr<Inflater> inflater_;
  std::string_view compressed_;  // of the piece, what is not inflated yet
};

/// Gives a file's text piece by piece from its beginning to its end, and returns what the file is. It takes twice
/// `piece_bytes` of memory. Throws as TextStream, and input for a file that changes meanwhile.
PosixFile::Status read_text(const std::filesystem::path& file, std::size_t piece_bytes,
                            const std::function<void(std::string_view)>& take);

}  // namespace ckpt
