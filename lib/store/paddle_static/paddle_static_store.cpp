#include "store/paddle_static/paddle_static_store.hpp"

#include <filesystem>
#include <mutex>
#include <set>

#include "base/log.hpp"
#include "base/shell_word.hpp"
#include "store/guarded_reading.hpp"
#include "store/offset_file.hpp"
#include "store/paddle_static/program.hpp"
#include "store/paddle_static/read_variables.hpp"
#include "store/read_only_store.hpp"

namespace ckpt {

namespace {

/// Memory for a child, for each byte of the file and its program: a tensor takes 26 bytes at least, a value of JSON
/// two.
constexpr std::uint64_t memory_per_byte = 64;
constexpr std::uint64_t bytes_per_second = 1U << 20;

std::uint64_t program_bytes(const std::filesystem::path& path) {
  const auto program = paddle_static::program_beside(path);
  std::error_code none;
  const std::uintmax_t bytes = program ? std::filesystem::file_size(*program, none) : 0;
  return none ? 0 : bytes;
}

class PaddleStaticStore final : public ReadOnlyStore {
 public:
  std::string_view name() const noexcept override { return paddle_static::format_name; }

  bool recognises(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    return paddle_static::begins_as_tensor(file, file.status().bytes);
  }

  FileCatalog catalog(const std::filesystem::path& path) override {
    const PosixFile file = PosixFile::open_for_reading(path);
    const PosixFile::Status status = file.status();
    if (!paddle_static::begins_as_tensor(file, status.bytes))
      throw misses_file(path, "is no file of PaddlePaddle's variables");
    const IsolationLimits limits =
        limits_for(status.bytes / 2 + program_bytes(path), memory_per_byte, bytes_per_second);
    auto schema = with_file(path.string(), [&] {
      return read_guarded<paddle_static::read_variables>(file, status.bytes, paddle_static::format_name, limits);
    });
    if (schema->arrays->size() > 1 && !paddle_static::program_beside(path)) warn_of_numbers(path);
    return {std::move(schema), status.bytes, status.modified_ns};
  }

  std::unique_ptr<SourceFile> open(const std::filesystem::path& file, const FileCatalog& catalog) override {
    return std::make_unique<OffsetFile>(file, catalog);
  }

 private:
  void warn_of_numbers(const std::filesystem::path& path) {
    const std::lock_guard lock(mutex_);
    if (!warned_.insert(path).second) return;
    std::error_code none;
    const auto json = std::filesystem::path(path).replace_extension(".json");
    const bool is_other = json != path && std::filesystem::is_regular_file(json, none);
    log::warn(
        "{} has no names, and its tensors are called by their numbers{}; copy the program that was saved with "
        "it beside it: cp PROGRAM {}",
        path.string(), is_other ? " (" + json.filename().string() + " is no program)" : "",
        shell_word(path.string() + ".pdmodel"));
  }

  std::mutex mutex_;
  std::set<std::filesystem::path> warned_;
};

}  // namespace

std::unique_ptr<Store> paddle_static_store() {
  return std::make_unique<PaddleStaticStore>();
}

}  // namespace ckpt
