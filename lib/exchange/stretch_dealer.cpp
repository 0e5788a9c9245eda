#include "exchange/stretch_dealer.hpp"

#include <utility>

namespace ckpt {

namespace {

/// So many are asked for before their turn: more than enough for a disk to be busy while all threads copy and sum.
constexpr std::size_t most_asked = 64;

}  // namespace

StretchDealer::Dealt StretchDealer::next() {
  const std::lock_guard lock(mutex_);
  while (asked_.size() < most_asked && work_.can_read_ahead())
    if (!ask_ahead()) break;
  if (asked_.empty()) return {work_.next_stretch(stretch_bytes_), {}};
  Dealt dealt = std::move(asked_.front());
  asked_.pop_front();
  return dealt;
}

bool StretchDealer::ask_ahead() {
  Stretch stretch = work_.next_stretch(stretch_bytes_);
  if (stretch.chunks.empty()) return false;
  Dealt& asked = asked_.emplace_back(Dealt{std::move(stretch), {}});
  for (const Chunk& chunk : asked.stretch.chunks)
    work_.plan(chunk, [&](const Transfer& transfer) { work_.read_ahead(transfer, asked.held); });
  return true;
}

}  // namespace ckpt
