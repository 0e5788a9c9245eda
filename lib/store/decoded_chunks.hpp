#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/buffer.hpp"

namespace ckpt {

/// What has been decoded so far.
struct Decoding {
  std::uint64_t bytes = 0;        ///< all of it
  std::uint64_t again = 0;        ///< of these, what had been decoded before and was evicted
  std::uint64_t memory_once = 0;  ///< the memory with which nothing would have been decoded again
};

/// A cache of decoded chunks of source files. The least recently used are evicted, so that all of them, and what
/// decoding takes, stay within a budget. Each is decoded by one thread, and the others wait for it. Threads may share
/// one cache.
class DecodedChunks {
 public:
  struct Key {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;
    std::uint64_t dataset = 0;
    std::uint64_t chunk = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Size {
    std::uint64_t bytes = 0;     ///< of the decoded chunk
    std::uint64_t decoding = 0;  ///< while it is decoded, these included
  };
  using Decode = std::function<void(std::span<std::byte>)>;  ///< into zeros

  /// What of the budget so many bytes take.
  static std::uint64_t room_of(std::uint64_t bytes);

  /// Before anything is decoded, or while nobody uses a chunk.
  void set_budget(std::uint64_t bytes);

  /// Calls use(bytes) with a chunk, after decode(bytes) where it is not there. Waits until there is room. `use` must
  /// not ask for another chunk. Throws input for a chunk that cannot fit.
  template <class Use>
  void with(const Key& key, const Size& size, const Decode& decode, Use&& use) {
    Entry& entry = acquire(key, size, decode);
    const Release release{*this, entry};
    use(std::span<const std::byte>(entry.memory.data(), size.bytes));
  }

  Decoding decoding() const;

 private:
  /// Zeros. Small ones from the heap: a system allows 65,530 mappings.
  class Memory {
   public:
    Memory() = default;
    explicit Memory(std::uint64_t bytes);
    std::byte* data() const noexcept { return small_ ? small_.get() : large_.data(); }

   private:
    Buffer large_;
    std::unique_ptr<std::byte[]> small_;
  };
  struct Entry {
    Key key;
    Memory memory;
    std::uint64_t room = 0;     // of the budget
    std::uint64_t used_at = 0;  // clock_ at its last use
    unsigned users = 0;
    bool is_ready = false;
  };
  using Entries = std::list<Entry>;
  struct Release {
    DecodedChunks& chunks;
    Entry& entry;
    ~Release() { chunks.release(entry); }
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  Entry& acquire(const Key& key, const Size& size, const Decode& decode);
  Entry& decode_new(std::unique_lock<std::mutex>& lock, const Key& key, const Size& size, const Decode& decode);
  bool make_room(std::uint64_t bytes);
  void let_go(Entries::iterator entry);
  void count(const Entry& entry, const Size& size);
  void release(Entry& entry);

  std::uint64_t budget_ = 256ULL << 20;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t used_ = 0;
  Entries order_;  // most recently used first
  std::unordered_map<Key, Entries::iterator, Hash> where_;
  Decoding decoding_;
  std::uint64_t clock_ = 0;  // the room that all that was decoded took
  // What was evicted, and the clock at its last use: newest first, up to a number.
  std::list<std::pair<Key, std::uint64_t>> gone_;
  std::unordered_map<Key, std::list<std::pair<Key, std::uint64_t>>::iterator, Hash> where_gone_;
};

}  // namespace ckpt
