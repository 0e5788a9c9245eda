#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/number_rules.hpp"
#include "store/store.hpp"

namespace ckpt {

/// A file format, and the function that makes its store.
struct Format {
  std::string_view name;        ///< "hdf5"
  std::string_view about = {};  ///< for --help: "a directory as torch.distributed.checkpoint writes it"; may be empty
  std::string_view ending;      ///< ending of the names of its files when written: ".h5"
  std::vector<std::string_view> other_endings = {};
  /// `value_bytes`: limit on catalogs' values of variable length, for all files together. More throws input.
  std::function<std::unique_ptr<Store>(std::uint64_t value_bytes)> make = {};
  std::string (*library_version)() = nullptr;  ///< version of the library that reads and writes it, if there is one
  std::string_view index_name = {};            ///< like DirectoryIndex::name: only together do its files say what they
                                               ///< hold
  /// An ending that it shares with another format: files have it if they are made from a checkpoint of that format.
  std::string_view shared_ending = {};
  /// The beginning of its files' names, if their endings differ.
  std::string_view beginning = {};
  bool is_directory = false;  ///< a file of it stands for all that lies in its directory
  bool is_written = true;     ///< otherwise its files are only read (ReadOnlyStore)
};

/// All file formats. A new one is a folder beside this file, and a line in stores.cpp. The first format is written if
/// nothing names another. For a file of none of them, the format of its ending, if any, says what is wrong.
const std::vector<Format>& formats();

/// Returns "hdf5, safetensors": the formats that a single file can have.
std::string names_of_files(const std::vector<Format>& formats);

/// Keeps the formats' libraries from doing anything at the program's exit. For `main`, before their first use.
void leave_libraries_at_exit();

/// Returns the format that the ending of a file's name indicates, or null.
const Format* format_by_ending(const std::vector<Format>& formats, std::string_view name);

/// The formats of a job, with one store each. It owns the stores: do not use their results after it is destroyed.
class Stores {
 public:
  /// `value_bytes`: the limit for each format's store, see Format::make.
  explicit Stores(std::vector<Format> formats = ckpt::formats(),
                  std::uint64_t value_bytes = std::numeric_limits<std::uint64_t>::max());
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;
  Stores(Stores&&) = delete;
  Stores& operator=(Stores&&) = delete;
  ~Stores();

  const std::vector<Format>& formats() const noexcept { return formats_; }
  /// Returns a store that reads each file in the format that its content indicates.
  SourceStore& reading() noexcept { return *reading_; }
  /// The rules by which `reading` takes integers and opaque bytes as numbers of another type.
  NumberRules& numbers() noexcept { return numbers_; }
  /// Throws usage for an unknown name.
  Store& named(std::string_view format);

 private:
  class ByContent;

  std::vector<Format> formats_;
  std::vector<std::unique_ptr<Store>> stores_;  // parallel to formats_
  NumberRules numbers_;
  std::unique_ptr<SourceStore> reading_;
};

}  // namespace ckpt
