#include "exchange/stretch_dealer.hpp"

#include <utility>

namespace ckpt {

namespace {

/// So many are asked for before their turn: more than enough for a disk to be busy while all threads copy and sum.
constexpr std::size_t most_asked = 64;

}  // namespace

StretchDealer::Dealt StretchDealer::next() {
  std::unique_lock lock(mutex_);
  while (asked_.size() < most_asked && work_.can_read_ahead())
    if (!ask_ahead(lock)) break;
  if (asked_.empty()) return {work_.next_stretch(stretch_bytes_), {}};
  const auto first = asked_.front();
  asked_.pop_front();
  planned_.wait(lock, [&] { return first->is_planned; });
  return std::move(first->dealt);
}

bool StretchDealer::ask_ahead(std::unique_lock<std::mutex>& lock) {
  Stretch stretch = work_.next_stretch(stretch_bytes_);
  if (stretch.chunks.empty()) return false;
  const auto asked = asked_.emplace_back(std::make_shared<Asked>(Asked{{std::move(stretch), {}}}));
  lock.unlock();
  std::exception_ptr error;
  try {
    Lease& held = asked->dealt.held;
    for (const Chunk& chunk : asked->dealt.stretch.chunks) {
      work_.plan(chunk, [&](const Transfer& transfer) { work_.read_ahead(transfer, held); });
      work_.read_ahead_to_write(chunk, held);
    }
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  asked->is_planned = true;
  planned_.notify_all();
  if (error) std::rethrow_exception(error);
  return true;
}

}  // namespace ckpt
