#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/posix_file.hpp"
#include "tensor/fingerprint.hpp"

namespace ckpt {

/// What one text file has come to.
struct WrittenText {
  std::uint64_t bytes = 0;  ///< of the file
  PartialSum lines;         ///< as they were written (`add_line`), of a compressed file as they are inflated again
  PartialSum content;       ///< of the file's bytes, by their offset (`sum_of`)
};

/// A text file that lines are appended to, compressed where its name ends in .gz. Its bytes depend on the lines alone.
class TextOutput {
 public:
  /// Makes the file, or goes on with what is `begun` of it. `buffer_bytes`: of lines that are written together. Throws
  /// io.
  TextOutput(const std::filesystem::path& file, std::size_t buffer_bytes, const WrittenText& begun = {});
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;
  TextOutput(TextOutput&&) = delete;
  TextOutput& operator=(TextOutput&&) = delete;

  void append(std::string_view line);  ///< with its newline
  /// Writes what has been appended, and gives what the file is then. Nothing of a compressed file, to whose end nobody
  /// else can append.
  std::optional<WrittenText> so_far();
  /// Writes the rest; nothing may be appended any more.
  WrittenText finish(bool fsync);

  /// The memory that one takes.
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
