#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/posix_file.hpp"
#include "store/paddle/inflater.hpp"

namespace ckpt {

/// Returns whether a text file's name says that it is compressed.
bool is_gzip_name(std::string_view name);

/// Reads a file's text piece by piece, and inflates it if the name ends in .gz.
class TextStream {
 public:
  /// Starts at a byte of the file, which is 0 for a compressed one.
  TextStream(std::filesystem::path path, std::uint64_t byte, std::size_t piece_bytes);

  /// Returns the next piece, valid until the next call; empty at the end. Throws input, naming the file, if it is not a
  /// complete gzip file.
  std::string_view next();
  /// Opens the file and returns its status.
  PosixFile::Status status();
  /// Closes the file, and frees all memory that it does not need to resume.
  void rest();

 private:
  const PosixFile& file();
  bool read();

  std::filesystem::path path_;
  std::uint64_t at_;  // offset in the file of the next byte to read
  std::size_t piece_bytes_;
  std::optional<PosixFile> file_;
  std::uint64_t end_ = 0;
  std::string piece_;
  std::unique_ptr<Inflater> inflater_;
  std::string_view compressed_;  // bytes of the piece that are not inflated yet
};

/// Passes a file's text piece by piece to `take`, and returns the file's status. It needs twice `piece_bytes` of
/// memory. Throws as TextStream does, and input if the file changes meanwhile.
PosixFile::Status read_text(const std::filesystem::path& file, std::size_t piece_bytes,
                            const std::function<void(std::string_view)>& take);

}  // namespace ckpt
