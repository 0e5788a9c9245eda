#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace ckpt {

/// The file formats there are. A new one is a folder beside this file, and a line in stores.cpp.
struct Format {
  std::string_view name;    ///< "hdf5"
  std::string_view ending;  ///< of its files' names, as they are written: ".h5"
  std::vector<std::string_view> other_endings;
  std::unique_ptr<Store> (*make)();
  std::string (*library_version)() = nullptr;  ///< of the library that it is read and written with, if there is one
};
const std::vector<Format>& formats();

/// Has the formats' libraries do nothing at the program's exit. For `main`, before their first use.
void leave_libraries_at_exit();

/// The format that the ending of a file's name tells, or nothing.
const Format* format_by_ending(std::string_view name);

/// The formats of a job, one store each. It owns them: what it gives refers to them, and must not outlive it.
class Stores {
 public:
  Stores();
  /// Of other formats; the first says what is wrong with a file that is none of them.
  explicit Stores(std::vector<std::unique_ptr<Store>> stores);
  Stores(const Stores&) = delete;
  Stores& operator=(const Stores&) = delete;
  Stores(Stores&&) = delete;
  Stores& operator=(Stores&&) = delete;
  ~Stores();

  /// Reads each file by the format that its content tells.
  SourceStore& reading() noexcept { return *reading_; }
  /// Throws usage for an unknown name.
  Store& named(std::string_view format);

 private:
  class ByContent;

  std::vector<std::unique_ptr<Store>> stores_;
  std::unique_ptr<SourceStore> reading_;
};

}  // namespace ckpt
