#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/lru.hpp"
#include "io/located_file.hpp"

namespace ckpt {

/// Installs a SIGBUS handler for the whole process, with which MappedWindows detects files that are truncated while
/// they are mapped; any other SIGBUS goes to the previous handler. For `main`: without it nothing is mapped.
void take_bus_errors();

/// Parts of source files mapped into memory. The least recently used are unmapped first, to keep the resident pages
/// within a budget, except those that a copy is using: only the touched part of a window counts. Meant for short runs
/// of bytes: each read costs a system call, while a mapped page costs nothing more once resident. If the system refuses
/// a mapping (`ulimit -v`, a file system without mmap), no other is tried. Threads may share an object.
class MappedWindows {
 public:
  explicit MappedWindows(std::uint64_t budget_bytes);

  /// Returns the longest stretch of a file that one copy may touch.
  std::uint64_t reach() const noexcept { return step_; }
  /// Returns how many bytes that have been touched stay mapped.
  std::uint64_t budget() const noexcept { return budget_; }

  /// Calls copy(address) with the address of byte `offset` of the file; `bytes` bytes (at most `reach`) from there on
  /// stay mapped while it runs. Returns false if they cannot be mapped: read them instead. Throws input, naming the
  /// file, if it now ends before them (it was truncated since it was opened), and io if they cannot be read.
  template <class Copy>
  [[nodiscard]] bool with(const LocatedFile& file, std::uint64_t offset, std::uint64_t bytes, Copy&& copy) {
    const auto window = find(file, offset, bytes);
    if (!window) return false;
    const Guard guard(*window);
    copy(window->address + (offset - window->start));
    guard.check(file, offset + bytes);
    return true;
  }

 private:
  struct Window {
    std::byte* address = nullptr;
    std::uint64_t start = 0;  // in the file
    std::uint64_t bytes = 0;
    mutable std::atomic<bool> has_lost = false;  // a page of zeros stands for one that could not be read
    Window() = default;
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    Window(Window&&) = delete;
    Window& operator=(Window&&) = delete;
    ~Window();
  };

  /// While it lives, a page of the window that cannot be read is one of zeros instead of killing the program, and
  /// `check` of every thread that uses the window reports it.
  class Guard {
   public:
    explicit Guard(const Window& window) noexcept;
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    Guard(Guard&&) = delete;
    Guard& operator=(Guard&&) = delete;
    void check(const LocatedFile& file, std::uint64_t end) const;

   private:
    const Window& window_;
  };

  /// Device and inode identify the file.
  struct Key {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t index = 0;  // of the window in the file
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Mapped {
    std::shared_ptr<const Window> window;
    std::uint64_t blocks = 0;  // one bit for each block that has been touched
  };

  /// Returns nothing if it cannot be mapped.
  std::shared_ptr<const Window> find(const LocatedFile& file, std::uint64_t offset, std::uint64_t bytes);
  Mapped* find_or_map(const LocatedFile& file, const Key& key);

  std::uint64_t budget_;
  std::uint64_t step_;  // windows begin at multiples of it and are two steps long, so that any stretch of one step lies
                        // in one window
  std::uint64_t most_windows_;
  std::mutex mutex_;
  Lru<Key, Mapped> windows_;  // cost: the bytes in the blocks that have been touched
};

}  // namespace ckpt
