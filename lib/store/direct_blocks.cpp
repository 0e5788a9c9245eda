#include "store/direct_blocks.hpp"

#include <algorithm>
#include <utility>

namespace ckpt {

namespace {

constexpr std::uint64_t best_block = 4ULL << 20;
constexpr std::uint64_t least_block = 1ULL << 20;
constexpr std::uint64_t step = 256ULL << 10;
constexpr std::uint64_t least_blocks = 16;
constexpr std::uint64_t page = 4096;  // of memory and of storage: what direct reads begin at, and end at

constexpr unsigned threads = 4;

/// Where all files are read in step, each has a block that is used up and one that is read ahead.
std::uint64_t block_for(std::uint64_t memory_bytes, std::uint64_t files) {
  const std::uint64_t fair = memory_bytes / std::max(2 * files, least_blocks);
  return std::clamp(fair / step * step, least_block, best_block);
}

}  // namespace

struct DirectBlocks::Block {
  FilePiece key;
  PosixFile file;
  std::uint64_t start;
  std::uint64_t bytes;
  std::byte* address;
  State state = State::reading;
};

DirectBlocks::DirectBlocks(std::uint64_t memory_bytes, std::uint64_t files)
    : block_bytes_(block_for(memory_bytes, files)),
      memory_(memory_bytes / block_bytes_ * block_bytes_),
      workers_(threads),
      reading_(workers_) {
  for (std::uint64_t at = memory_.size(); at != 0; at -= block_bytes_)
    free_.push_back(memory_.data() + (at - block_bytes_));
}

DirectBlocks::~DirectBlocks() = default;

void DirectBlocks::want(const LocatedFile& file, Interval bytes, Lease& lease) {
  if (bytes.empty()) return;
  const std::lock_guard lock(mutex_);
  for (std::uint64_t index = bytes.lo / block_bytes_; index * block_bytes_ < bytes.hi; ++index) {
    const FilePiece key = key_of(file, index);
    if (const auto found = where_.find(key); found != where_.end()) {
      order_.splice(order_.end(), order_, found->second);
      lease.push_back(*found->second);
    } else if (auto block = begin(file, key)) {
      lease.push_back(std::move(block));
    }
  }
}

std::shared_ptr<DirectBlocks::Block> DirectBlocks::begin(const LocatedFile& file, const FilePiece& key) {
  const std::uint64_t start = key.index * block_bytes_;
  const std::uint64_t bytes = std::min(block_bytes_, file.bytes - start);
  if (is_wasted() || is_in_memory(file.fd, start, bytes)) return nullptr;
  std::byte* const address = room();
  if (address == nullptr) return nullptr;
  auto opened = PosixFile::open_directly(file.fd, *file.path);
  if (!opened) {
    free_.push_back(address);
    return nullptr;
  }
  const auto block = std::make_shared<Block>(Block{key, std::move(*opened), start, bytes, address});
  where_[key] = order_.insert(order_.end(), block);
  fetched_ += bytes;
  reading_.run([this, block] { fetch(*block); });
  return block;
}

/// Blocks are read more than once where more of them are in use together than there is memory for.
bool DirectBlocks::is_wasted() const {
  return fetched_ > 2 * memory_.size() && fetched_ - memory_.size() > 2 * used_.load(std::memory_order_relaxed);
}

std::byte* DirectBlocks::room() {
  if (!free_.empty()) {
    std::byte* const address = free_.back();
    free_.pop_back();
    return address;
  }
  const auto unheld =
      std::find_if(order_.begin(), order_.end(), [](const auto& block) { return block.use_count() == 1; });
  if (unheld == order_.end()) return nullptr;
  std::atomic_thread_fence(std::memory_order_acquire);  // whoever held it has done with it
  std::byte* const address = (*unheld)->address;
  where_.erase((*unheld)->key);
  order_.erase(unheld);
  return address;
}

/// A block that cannot be read in this way, or that the file no longer has, is read in the usual one, which says why.
void DirectBlocks::fetch(Block& block) {
  const std::uint64_t whole = (block.bytes + page - 1) / page * page;
  const bool is_read =
      block.file.read_up_to(block.start, {block.address, static_cast<std::size_t>(whole)}) >= block.bytes;
  const std::lock_guard lock(mutex_);
  block.state = is_read ? State::ready : State::failed;
  read_.notify_all();
}

bool DirectBlocks::has_room() const {
  const std::lock_guard lock(mutex_);
  return !free_.empty() ||
         std::any_of(order_.begin(), order_.end(), [](const auto& block) { return block.use_count() == 1; });
}

DirectBlocks::Held DirectBlocks::find(const LocatedFile& file, std::uint64_t offset) {
  std::unique_lock lock(mutex_);
  const auto found = where_.find(key_of(file, offset / block_bytes_));
  if (found == where_.end()) return {};
  const std::shared_ptr<const Block> block = *found->second;
  read_.wait(lock, [&] { return block->state != State::reading; });
  if (block->state == State::failed || offset - block->start >= block->bytes) return {};
  const std::uint64_t skipped = offset - block->start;
  return {block, block->address + skipped, block->bytes - skipped};
}

}  // namespace ckpt
