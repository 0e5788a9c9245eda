#include "io/direct_blocks.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "base/checked.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t least_block = 1ULL << 20;
constexpr std::uint64_t step = 256ULL << 10;
constexpr std::uint64_t least_blocks = 64;

/// Concurrent reads: a disk needs a few, a network with answers in a millisecond some more.
constexpr unsigned threads = 16;

/// If all files are read in step, each has a block in use and a prefetched one, and some have the next; each core's
/// thread holds some, too. More would touch memory for nothing.
std::uint64_t usual_blocks(std::uint64_t files) {
  return std::max({2 * files + files / 2, least_blocks, 4 * std::uint64_t{std::thread::hardware_concurrency()}});
}

std::uint64_t block_for(std::uint64_t memory_bytes, std::uint64_t count) {
  return std::clamp(memory_bytes / count / step * step, least_block, DirectBlocks::usual_block);
}

}  // namespace

DirectReadStatus DirectFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  constexpr std::uint64_t page = 4096;
  if (!file_) return DirectReadStatus::refused;
  if (is_in_memory(fd_, offset, out.size())) return DirectReadStatus::left;
  const std::uint64_t read = file_->read_up_to(offset, {out.data(), round_up(out.size(), page)});
  if (read == 0) return DirectReadStatus::refused;
  return read < out.size() ? DirectReadStatus::left : DirectReadStatus::read;
}

struct DirectBlocks::Block {
  Key key;
  std::span<std::byte> bytes;
  State state = State::reading;
};

bool DirectBlocks::is_held(const std::shared_ptr<Block>& block) noexcept {
  return block.use_count() > 1;  // by someone besides the list
}

DirectBlocks::DirectBlocks(std::uint64_t memory_bytes, std::uint64_t files, Read read)
    : read_(std::move(read)),
      usual_blocks_(usual_blocks(files)),
      block_bytes_(block_for(memory_bytes, usual_blocks_)),
      memory_(memory_bytes / block_bytes_ * block_bytes_),
      workers_(threads),
      reading_(workers_) {
  for (std::uint64_t at = memory_.size(); at != 0; at -= block_bytes_)
    free_.push_back(memory_.data() + (at - block_bytes_));
}

DirectBlocks::~DirectBlocks() = default;

void DirectBlocks::want(std::uint64_t number, std::uint64_t file_bytes, Interval bytes, Lease& lease) {
  if (bytes.empty()) return;
  const std::lock_guard lock(mutex_);
  File& file = files_[number];
  if (file.is_refused) return;
  for (std::uint64_t index = bytes.lo / block_bytes_; index * block_bytes_ < bytes.hi; ++index) {
    if (const auto* const block = blocks_.find({number, index})) {
      lease.insert(*block);
    } else if (!file.left.contains(index)) {
      const std::uint64_t start = index * block_bytes_;
      if (auto begun = begin({number, index}, std::min(block_bytes_, file_bytes - start)))
        lease.insert(std::move(begun));
    }
  }
}

std::shared_ptr<DirectBlocks::Block> DirectBlocks::begin(const Key& key, std::uint64_t bytes) {
  if (is_wasted(bytes)) return nullptr;
  std::byte* const address = room();
  if (address == nullptr) return nullptr;
  const auto block = std::make_shared<Block>(Block{key, {address, static_cast<std::size_t>(bytes)}});
  blocks_.insert(key, block);
  fetched_ += bytes;
  try {
    reading_.run([this, block] { fetch(*block); });
  } catch (...) {
    leave(*block, false);  // so that nobody waits for it
    throw;
  }
  return block;
}

/// Far more is read than used if more blocks are in use at once than fit into memory, so that they are read repeatedly,
/// each for a small part. Later parts of the job may differ, so reading is tried again from time to time.
bool DirectBlocks::is_wasted(std::uint64_t bytes) {
  constexpr std::uint64_t turns = 8;
  const std::uint64_t memory = memory_.size();
  if (fetched_ <= 2 * memory || fetched_ - memory <= 2 * used_.load(std::memory_order_relaxed)) return false;
  passed_ += bytes;
  if (passed_ < turns * memory) return true;
  fetched_ = passed_ = 0;
  used_ = 0;
  return false;
}

std::byte* DirectBlocks::room() {
  if (free_.empty() || blocks_.size() >= usual_blocks_) {
    if (const auto unheld = blocks_.evict(std::not_fn(is_held))) {
      std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the release by the block's last holder
      free_.push_back(unheld->value->bytes.data());
    }
  }
  if (free_.empty()) return nullptr;
  std::byte* const address = free_.back();
  free_.pop_back();
  return address;
}

void DirectBlocks::fetch(Block& block) {
  DirectReadStatus how = DirectReadStatus::left;
  try {
    how = read_(block.key.file, block.key.index * block_bytes_, block.bytes);
  } catch (const std::exception&) {  // whoever needs the block reads it buffered, and gets the error
  }
  const std::lock_guard lock(mutex_);
  if (how != DirectReadStatus::read) return leave(block, how == DirectReadStatus::refused);
  block.state = State::ready;
  is_ever_read_ = true;
  has_read_.notify_all();
}

/// Leaves the block to buffered reads from here on.
void DirectBlocks::leave(Block& block, bool is_refused) {
  File& file = files_[block.key.file];
  block.state = State::left;
  has_read_.notify_all();  // before anything that allocates
  file.is_refused = file.is_refused || is_refused;
  is_ever_refused_ = is_ever_refused_ || is_refused;
  fetched_ -= std::min<std::uint64_t>(fetched_, block.bytes.size());
  free_.push_back(block.bytes.data());
  blocks_.erase(block.key);
  file.left.insert(block.key.index);
}

bool DirectBlocks::has_room() const {
  const std::lock_guard lock(mutex_);
  return !free_.empty() ||
         std::any_of(blocks_.begin(), blocks_.end(), [](const auto& entry) { return !is_held(entry.value); });
}

bool DirectBlocks::is_far_ahead() const {
  const std::lock_guard lock(mutex_);
  const auto held =
      std::count_if(blocks_.begin(), blocks_.end(), [](const auto& entry) { return is_held(entry.value); });
  return static_cast<std::uint64_t>(held) >= usual_blocks_;
}

bool DirectBlocks::is_refused() const {
  const std::lock_guard lock(mutex_);
  return is_ever_refused_ && !is_ever_read_;
}

DirectBlocks::PinnedBytes DirectBlocks::find(std::uint64_t number, std::uint64_t offset) {
  const std::uint64_t index = offset / block_bytes_;
  const std::uint64_t skipped = offset - index * block_bytes_;
  const PinnedBytes nothing{nullptr, nullptr, block_bytes_ - skipped};
  std::unique_lock lock(mutex_);
  const auto* const found = blocks_.peek({number, index});
  if (found == nullptr) return nothing;
  const std::shared_ptr<const Block> block = *found;
  has_read_.wait(lock, [&] { return block->state != State::reading; });
  if (block->state == State::left || skipped >= block->bytes.size()) return nothing;
  return {block, block->bytes.data() + skipped, block->bytes.size() - skipped};
}

}  // namespace ckpt
