#include "io/mapped_windows.hpp"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

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

/// The window that this thread copies from, for the signal handler.
struct GuardedCopy {
  std::byte* address = nullptr;
  std::uint64_t bytes = 0;
  std::atomic<bool>* has_lost = nullptr;
};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler stores it
thread_local constinit GuardedCopy watched;

struct sigaction previous_handler;

/// A mapped page beyond the end of its file, or that the disk does not return, raises SIGBUS. In a watched window a
/// page of zeros replaces it, and the copy continues; `check` reports the loss afterwards. Other threads may read the
/// zeros, so the window says so before they are there. Any other SIGBUS goes to the previous handler.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto start = reinterpret_cast<std::uintptr_t>(watched.address);
  if (watched.address != nullptr && at >= start && at < start + watched.bytes) {
    std::byte* where = watched.address + ((at - start) / page * page);  // windows begin at a page
    watched.has_lost->store(true);
    if (mmap(where, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) return;
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
  std::vector<Mapped> dropped;  // unmapped after the lock is released
  const std::lock_guard lock(mutex_);
  const Key key{file.device, file.inode, offset / step_};
  Mapped* const entry = find_or_map(file, key);
  if (entry == nullptr) {
    most_windows_ = 0;
    while (auto oldest = windows_.evict()) dropped.push_back(std::move(oldest->value));
    return nullptr;
  }
  const Interval window{entry->window->start, entry->window->start + entry->window->bytes};
  for (std::uint64_t block = offset / block_bytes; block * block_bytes < offset + bytes; ++block) {
    const std::uint64_t bit = 1ULL << (block - window.lo / block_bytes);
    if ((entry->blocks & bit) != 0) continue;
    entry->blocks |= bit;
    const Interval touched = intersect(window, {block * block_bytes, (block + 1) * block_bytes});
    windows_.add_cost(key, static_cast<std::int64_t>(touched.size()));
  }
  while ((windows_.cost() > budget_ || windows_.size() > most_windows_) && windows_.size() > 1)
    dropped.push_back(std::move(windows_.evict()->value));
  return entry->window;
}

MappedWindows::Mapped* MappedWindows::find_or_map(const LocatedFile& file, const Key& key) {
  if (most_windows_ == 0) return nullptr;
  if (Mapped* const found = windows_.find(key)) return found;
  auto window = std::make_shared<Window>();
  window->start = key.index * step_;
  window->bytes = std::min(2 * step_, file.bytes - window->start);
  void* address = mmap(nullptr, window->bytes, PROT_READ, MAP_SHARED, file.fd, static_cast<off_t>(window->start));
  if (address == MAP_FAILED) return nullptr;
  window->address = static_cast<std::byte*>(address);
  return &windows_.insert(key, {std::move(window)});
}

MappedWindows::Guard::Guard(const Window& window) noexcept : window_(window) {
  watched = {window.address, window.bytes, &window.has_lost};
}

MappedWindows::Guard::~Guard() {
  watched.address = nullptr;
}

void MappedWindows::Guard::check(const LocatedFile& file, std::uint64_t end) const {
  if (!window_.has_lost) return;
  struct stat now {};
  if (::fstat(file.fd, &now) == 0 && static_cast<std::uint64_t>(now.st_size) >= end)
    throw system_error(*file.path, "read", EIO);
  throw Error(Kind::input, *file.path,
              {"ended while it was read", "at least " + std::to_string(end) + " bytes",
               "was it truncated? is the checkpoint still being written?"});
}

}  // namespace ckpt
