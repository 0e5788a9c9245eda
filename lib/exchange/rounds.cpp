#include "exchange/rounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/buffer.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t task_bytes = 1ULL << 20;  // reads of one task of a reader's thread, about
constexpr std::uint64_t least_cost = 512;         // of a transfer, in bytes of a round: its request has a size too

}  // namespace

void Messages::clear(std::uint64_t peers) {
  sizes.assign(peers, 0);
  place();
}

void Messages::place() {
  offsets.resize(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::uint64_t{0});
  bytes = offsets.back() + sizes.back();
}

Rounds::Rounds(Communicator& processes, std::uint64_t part_bytes, RoundShares shares)
    : processes_(processes),
      peers_(static_cast<std::uint64_t>(processes.size())),
      rank_(static_cast<std::uint64_t>(processes.rank())),
      part_bytes_(part_bytes),
      shares_(std::move(shares)) {}

void Rounds::take_chunks(Workload& work, RoundPlan& plan) {
  plan.chunks.clear();
  plan.chunk_bytes = 0;
  plan.received.clear(peers_);
  std::vector<RequestWriter> requests(peers_);
  const bool is_my_turn = round_++ % shares_.turns == rank_ % shares_.turns;
  for (;;) {
    if (!next_) next_ = next(work);
    if (!next_ || !is_my_turn || !fits(work, *next_, plan)) break;
    ChunkInRound& chunk = plan.chunks.emplace_back(std::move(*next_));
    next_.reset();
    chunk.offset = plan.chunk_bytes;
    plan.chunk_bytes = round_up(checked_add(plan.chunk_bytes, chunk.chunk.bytes), 16);  // for GPUs' wide words
    sort_transfers(work, chunk, plan, requests);
  }
  plan.is_last = !next_ && plan.chunks.empty();
  plan.received.place();
  plan.requests.clear();
  for (RequestWriter& request : requests) plan.requests.push_back(request.take());
}

/// The next chunk with all its transfers (in `local` until they are sorted).
std::optional<ChunkInRound> Rounds::next(Workload& work) const {
  const auto chunk = work.next();
  if (!chunk) return std::nullopt;
  ChunkInRound planned;
  planned.chunk = *chunk;
  planned.has_padding =
      work.plan(*chunk, [&](const Transfer& transfer) { planned.local.push_back(transfer); }) < chunk->bytes;
  return planned;
}

/// Whether a chunk still fits: among the round's, and in what each peer may be asked for (it serves all of us).
bool Rounds::fits(const Workload& work, const ChunkInRound& chunk, const RoundPlan& plan) const {
  if (plan.chunks.empty()) return true;
  if (plan.chunk_bytes + chunk.chunk.bytes + least_cost * plan.chunks.size() > part_bytes_) return false;
  std::vector<std::uint64_t> sizes = plan.received.sizes;
  for (const Transfer& transfer : chunk.local)
    if (const std::uint32_t peer = work.owner(transfer.card); peer != rank_) {
      sizes[peer] += std::max(message_bytes(transfer), least_cost);
      if (sizes[peer] > shares_.most_asked[peer]) return false;
    }
  return true;
}

void Rounds::sort_transfers(const Workload& work, ChunkInRound& chunk, RoundPlan& plan,
                            std::vector<RequestWriter>& requests) {
  std::vector<Transfer> transfers = std::move(chunk.local);
  chunk.local.clear();
  for (Transfer& transfer : transfers) {
    const std::uint32_t peer = work.owner(transfer.card);
    if (peer == rank_) {
      chunk.local.push_back(std::move(transfer));
      continue;
    }
    requests[peer].add(transfer);
    const std::uint64_t bytes = message_bytes(transfer);
    chunk.pieces.push_back({peer, plan.received.sizes[peer], std::move(transfer)});
    plan.received.sizes[peer] += bytes;
  }
}

bool Rounds::ask(RoundPlan& plan) {
  if (processes_.maximum(plan.is_last ? 0 : 1) == 0) return false;
  plan.requests = processes_.all_to_all(std::move(plan.requests));
  return true;
}

void Rounds::accept(Workload& work, RoundPlan& plan) const {
  plan.asked.clear();
  plan.sent.clear(peers_);
  for (std::uint64_t p = 0; p < peers_; ++p)
    for (const Transfer& transfer : plan.asked.emplace_back(read_request(plan.requests[p]))) {
      plan.sent.sizes[p] += message_bytes(transfer);
      work.count_exchanged(transfer.bytes());
    }
  plan.sent.place();
}

std::vector<Communicator::Message> Rounds::messages(const Messages& messages, std::byte* buffer,
                                                    std::uint64_t step) const {
  std::vector<Communicator::Message> list;
  for (std::uint64_t peer = (rank_ + step) % peers_; peer != rank_; peer = (peer + step) % peers_)
    if (messages.sizes[peer] != 0)
      list.push_back(
          {static_cast<int>(peer), {buffer + messages.offsets[peer], static_cast<std::size_t>(messages.sizes[peer])}});
  return list;
}

std::vector<Communicator::Message> Rounds::outgoing(const Messages& all, std::byte* buffer) const {
  return messages(all, buffer, 1);
}

std::vector<Communicator::Message> Rounds::incoming(const Messages& all, std::byte* buffer) const {
  return messages(all, buffer, peers_ - 1);
}

void read_messages(Workload& work, const RoundPlan& plan, std::byte* buffer, std::uint64_t scratch_bytes,
                   TaskGroup& tasks) {
  for (std::size_t p = 0; p < plan.asked.size(); ++p) {
    std::byte* message = buffer + plan.sent.offsets[p];
    const std::span<const Transfer> all = plan.asked[p];
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
      for (std::uint64_t bytes = 0; end < all.size() && bytes < task_bytes; ++end) bytes += all[end].bytes();
      tasks.run([&work, message, scratch_bytes, batch = all.subspan(begin, end - begin)] {
        for (const Transfer& transfer : batch) {
          std::byte* place = message + transfer.target_offset;
          store_sum(work.read(transfer, place, thread_scratch(scratch_bytes)), place + transfer.bytes());
        }
      });
    }
  }
}

std::span<std::byte> thread_scratch(std::uint64_t bytes) {
  thread_local Buffer buffer;
  if (buffer.size() < bytes) buffer = Buffer(bytes);
  return buffer.first(bytes);
}

}  // namespace ckpt
