#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/posix_file.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// The size and the sums of a text file as written so far.
struct WrittenText {
  std::uint64_t bytes = 0;  ///< size of the file
  PartialSum lines;         ///< as written (`add_line`), for a compressed file after inflating it again
  PartialSum content;       ///< of the file's bytes, by their offset (`sum_of`)
};

/// A text file to which lines are appended, compressed if its name ends in .gz. Its bytes depend only on the lines.
class TextOutput {
 public:
  /// Creates the file, or continues from `begun`. `buffer_bytes`: size of lines that are written together. Throws io.
  TextOutput(const std::filesystem::path& file, std::size_t buffer_bytes, const WrittenText& begun = {});
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;
  TextOutput(TextOutput&&) = delete;
  TextOutput& operator=(TextOutput&&) = delete;

  void append(std::string_view line);  ///< including its newline
  /// Writes what has been appended, and returns the file's contents so far. Nothing for a compressed file, since it
  /// cannot be continued later.
  std::optional<WrittenText> so_far();
  /// Writes the rest; nothing may be appended afterwards.
  WrittenText finish(bool fsync);

  /// Returns the memory that one TextOutput takes.
  static std::uint64_t memory_bytes(std::size_t buffer_bytes, bool is_gzip);

 private:
  class Deflater;
  void flush();
  void compress(bool is_end);
  void write(std::string_view bytes);

  PosixFile file_;
  std::size_t buffer_bytes_;
  std::string buffer_;
  std::unique_ptr<Deflater> deflater_;
  WrittenText written_;
};

}  // namespace ckpt
