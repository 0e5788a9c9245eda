#include "io/mapped_windows.hpp"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "tensor/box.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t best_step = 8ULL << 20;
constexpr std::uint64_t least_step = 64ULL << 10;
constexpr std::uint64_t block_bytes = 2ULL << 20;  // as much as the kernel may map when one page is touched
constexpr std::uint64_t most_windows = 4096;       // a system allows 65,530 mappings
constexpr std::uint64_t share_of_addresses = 4;    // if addresses are limited, most are for other uses

/// What the signal handler has to know about the copy that this thread is doing.
struct Watched {
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;
  bool has_lost = false;
};
thread_local constinit Watched watched;

struct sigaction previous_handler;

/// A mapped page beyond the end of its file raises SIGBUS. In a watched window a page of zeros replaces it, and the
/// copy continues; `check` reports the loss afterwards. Any other SIGBUS goes to the previous handler.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto start = reinterpret_cast<std::uintptr_t>(watched.address);
  if (watched.address != nullptr && at >= start && at < start + watched.bytes) {
    std::byte* where = watched.address + ((at - start) / page * page);  // windows begin at a page
    if (mmap(where, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
      watched.has_lost = true;
      return;
    }
  }
  if ((previous_handler.sa_flags & SA_SIGINFO) != 0 && previous_handler.sa_sigaction != nullptr) {
    previous_handler.sa_sigaction(signal, info, context);
  } else {
    sigaction(signal, &previous_handler, nullptr);  // the access is retried and reaches the previous handler
  }
}

std::atomic<bool> bus_errors_are_taken{false};

}  // namespace

void take_bus_errors() {
  if (bus_errors_are_taken.exchange(true)) return;
  struct sigaction handler {};
  handler.sa_sigaction = on_bus_error;
  handler.sa_flags = SA_SIGINFO;
  sigemptyset(&handler.sa_mask);
  if (sigaction(SIGBUS, &handler, &previous_handler) != 0) bus_errors_are_taken = false;
}

MappedWindows::MappedWindows(std::uint64_t budget_bytes) : budget_(budget_bytes) {
  // The budget holds at least four windows of two steps each.
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  step_ = std::clamp(budget_bytes / 8 / page * page, least_step, best_step);
  most_windows_ =
      bus_errors_are_taken ? std::min(most_windows, addresses_left() / share_of_addresses / (2 * step_)) : 0;
}

MappedWindows::Window::~Window() {
  if (address != nullptr) munmap(address, bytes);
}

std::shared_ptr<const MappedWindows::Window> MappedWindows::find(const LocatedFile& file, std::uint64_t offset,
                                                                 std::uint64_t bytes) {
  Windows dropped;  // unmapped after the lock is released
  const std::lock_guard lock(mutex_);
  const auto entry = find_or_map(file, {file.device, file.inode, offset / step_});
  if (entry == order_.end()) {
    most_windows_ = 0;
    touched_ = 0;
    where_.clear();
    dropped.swap(order_);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, entry);
  const Interval window{entry->window->start, entry->window->start + entry->window->bytes};
  for (std::uint64_t block = offset / block_bytes; block * block_bytes < offset + bytes; ++block) {
    const std::uint64_t bit = 1ULL << (block - window.lo / block_bytes);
    if ((entry->blocks & bit) != 0) continue;
    entry->blocks |= bit;
    const std::uint64_t touched = intersect(window, {block * block_bytes, (block + 1) * block_bytes}).size();
    entry->touched += touched;
    touched_ += touched;
  }
  while ((touched_ > budget_ || order_.size() > most_windows_) && order_.size() > 1) {
    const auto oldest = std::prev(order_.end());
    touched_ -= oldest->touched;
    where_.erase(oldest->key);
    dropped.splice(dropped.begin(), order_, oldest);
  }
  return entry->window;
}

MappedWindows::Windows::iterator MappedWindows::find_or_map(const LocatedFile& file, const FilePiece& key) {
  if (most_windows_ == 0) return order_.end();
  if (const auto found = where_.find(key); found != where_.end()) return found->second;
  auto window = std::make_shared<Window>();
  window->start = key.index * step_;
  window->bytes = std::min(2 * step_, file.bytes - window->start);
  void* address = mmap(nullptr, window->bytes, PROT_READ, MAP_SHARED, file.fd, static_cast<off_t>(window->start));
  if (address == MAP_FAILED) return order_.end();
  window->address = static_cast<std::byte*>(address);
  Windows made;
  made.push_front({key, std::move(window)});
  where_[key] = made.begin();
  order_.splice(order_.begin(), made);
  return order_.begin();
}

MappedWindows::Guard::Guard(const Window& window) noexcept {
  watched = {window.address, window.bytes, false};
}

MappedWindows::Guard::~Guard() {
  watched.address = nullptr;
}

void MappedWindows::Guard::check(const LocatedFile& file, std::uint64_t end) const {
  if (watched.has_lost)
    throw Error(Kind::input, *file.path,
                {"ended while it was read", "at least " + std::to_string(end) + " bytes",
                 "was it truncated? is the checkpoint still being written?"});
}

}  // namespace ckpt
