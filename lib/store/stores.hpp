#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace ckpt {

/// A file format, and how its store is made.
struct Format {
  std::string_view name;    ///< "hdf5"
  std::string_view ending;  ///< of its files' names, as they are written: ".h5"
  std::vector<std::string_view> other_endings;
  /// Catalogs' values of variable length may take so many bytes, of all files together: more throws input.
  std::function<std::unique_ptr<Store>(std::uint64_t value_bytes)> make;
  std::string (*library_version)() = nullptr;  ///< of the library that it is read and written with, if there is one
  std::string_view index_name = {};            ///< as Store::index_name: its files say only together what they hold
  /// That of another format's files, too: files have this one where they are made of such a checkpoint.
  std::string_view shared_ending = {};
};

/// The file formats there are. A new one is a folder beside this file, and a line in stores.cpp. The first one is
/// written where nothing tells. What is wrong with a file of none of them is said by the one that its ending tells, if
/// there is one.
const std::vector<Format>& formats();

/// "hdf5, safetensors": the formats in which a file by itself may be.
std::string names_of_files(const std::vector<Format>& formats);

/// Has the formats' libraries do nothing at the program's exit. For `main`, before their first use.
void leave_libraries_at_exit();

/// The one of `formats` that the ending of a file's name tells, or nothing.
const Format* format_by_ending(const std::vector<Format>& formats, std::string_view name);

/// The formats of a job, one store each. It owns them: what it gives refers to them, and must not outlive it.
class Stores {
 public:
  /// `value_bytes`: of each format's store, as Format::make has it.
  explicit Stores(std::vector<Format> formats = ckpt::formats(),
                  std::uint64_t value_bytes = std::numeric_limits<std::uint64_t>::max());
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;
  Stores(Stores&&) = delete;
  Stores& operator=(Stores&&) = delete;
  ~Stores();

  const std::vector<Format>& formats() const noexcept { return formats_; }
  /// Reads each file by the format that its content tells.
  SourceStore& reading() noexcept { return *reading_; }
  /// Throws usage for an unknown name.
  Store& named(std::string_view format);

 private:
  class ByContent;

  std::vector<Format> formats_;
  std::vector<std::unique_ptr<Store>> stores_;  // parallel to formats_
  std::unique_ptr<SourceStore> reading_;
};

}  // namespace ckpt
