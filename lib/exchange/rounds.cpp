#include "exchange/rounds.hpp"

#include <algorithm>
#include <numeric>

#include "base/buffer.hpp"
#include "processes/gather_all.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t task_bytes = 1ULL << 20;  // approximate size of the reads of one task
constexpr std::uint64_t least_cost = 512;         // overhead of a transfer, in bytes of a round: its plan takes space,
                                                  // too
constexpr std::uint64_t best_chunk = 4ULL << 20;
constexpr std::uint64_t least_chunk = 4096;

/// Limits the chunks that take none of a round's memory, since other processes wait for the round. A lower limit would
/// make too many rounds.
constexpr std::uint64_t own_chunks_for_one = 4;

/// The first round has an eighth of the usual size, and each one up to the usual size twice that of the one before.
constexpr std::uint64_t small_rounds = 3;

}  // namespace

std::vector<std::uint64_t> grant_round(std::uint64_t part_bytes, std::uint64_t round,
                                       const std::vector<RoundRequest>& round_requests) {
  std::vector<std::uint64_t> granted(round_requests.size(), 0);
  std::vector<std::size_t> served;
  std::uint64_t left = part_bytes;
  double wanted = 0;  // beyond what is granted
  for (std::size_t i = 0; i < round_requests.size(); ++i) {
    const std::size_t writer = (round + i) % round_requests.size();
    const RoundRequest& round_request = round_requests[writer];
    if (round_request.most == 0 || (round_request.least > left && i > 0)) continue;
    granted[writer] = round_request.least;
    left -= std::min(left, round_request.least);
    served.push_back(writer);
    wanted += double(round_request.most - round_request.least);
  }
  const double part_of_wish = wanted > double(left) ? double(left) / wanted : 1.0;
  for (const std::size_t writer : served)
    granted[writer] +=
        static_cast<std::uint64_t>(double(round_requests[writer].most - round_requests[writer].least) * part_of_wish);
  return granted;
}

void Messages::clear(std::uint64_t peers) {
  sizes.assign(peers, 0);
  place();
}

void Messages::place() {
  offsets.resize(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), offsets.begin(), std::uint64_t{0});
  bytes = offsets.back() + sizes.back();
}

Rounds::Rounds(Communicator& processes, std::uint64_t part_bytes, std::uint64_t most_chunk)
    : processes_(processes),
      peers_(static_cast<std::uint64_t>(processes.size())),
      rank_(static_cast<std::uint64_t>(processes.rank())),
      part_bytes_(part_bytes),
      chunk_bytes_(std::clamp(std::min(part_bytes / 8, most_chunk), least_chunk, best_chunk)) {}

void Rounds::plan_ahead(Workload& work) {
  round_bytes_ = part_bytes_ >> (small_rounds - std::min(round_, small_rounds));
  while (ahead_.empty() || bytes_ahead_ < round_bytes_) {
    const auto chunk = next(work);
    if (!chunk) return;
    plan(work, *chunk);
  }
}

std::optional<Chunk> Rounds::next(Workload& work) {
  if (parts_.empty()) return work.next();
  const Chunk part = parts_.back();
  parts_.pop_back();
  return part;
}

void Rounds::plan(Workload& work, const Chunk& chunk) {
  PlannedChunk planned;
  ChunkInRound& in_round = planned.chunk;
  in_round.chunk = chunk;
  const std::uint64_t most = chunk_bytes_ / least_cost;
  std::uint64_t transfers = 0;
  const std::uint64_t filled = work.plan(chunk, [&](const Transfer& transfer) {
    if (++transfers > most && chunk.elements.size() > 1) return;
    const std::uint32_t peer = work.owner(transfer.card);
    if (peer == rank_) {
      in_round.local.push_back(transfer);
      return;
    }
    in_round.pieces.push_back({peer, 0, transfer});
    planned.asked[peer] += std::max(message_bytes(transfer), least_cost);
  });
  if (transfers > most && chunk.elements.size() > 1) return divide(chunk, ceil_div(transfers, most));
  in_round.has_padding = filled < chunk.bytes;
  in_round.is_own = in_round.pieces.empty() && chunk.bytes <= own_bytes_;
  in_round.room = checked_add(in_round.is_own ? chunk.bytes / own_chunks_for_one : chunk.bytes,
                              (1 + transfers) * least_cost, "a chunk");
  bytes_ahead_ += in_round.room;
  ahead_.push_back(std::move(planned));
}

void Rounds::divide(const Chunk& chunk, std::uint64_t parts) {
  const std::uint64_t elements = chunk.elements.size();
  const std::uint64_t element = chunk.bytes / elements;
  const std::uint64_t each = ceil_div(elements, std::min(parts, elements));
  for (std::uint64_t end = elements; end > 0;) {
    const std::uint64_t begin = (end - 1) / each * each;
    parts_.push_back(
        {chunk.card, chunk.array, {chunk.elements.lo + begin, chunk.elements.lo + end}, (end - begin) * element});
    end = begin;
  }
}

std::vector<RoundRequest> Rounds::round_requests() const {
  std::vector<RoundRequest> round_requests(peers_);
  for (RoundRequest& round_request : round_requests) round_request.has_more = !ahead_.empty();
  std::uint64_t room = 0;
  for (std::size_t i = 0; i < ahead_.size(); ++i) {
    room += ahead_[i].chunk.room;
    if (i > 0 && room > round_bytes_) break;
    for (const auto& [peer, bytes] : ahead_[i].asked) {
      round_requests[peer].most += bytes;
      if (i == 0) round_requests[peer].least = bytes;
    }
  }
  return round_requests;
}

bool Rounds::agree_on_grants() {
  const std::vector<RoundRequest> of_all = exchange_values(round_requests(), processes_);
  if (std::none_of(of_all.begin(), of_all.end(),
                   [](const RoundRequest& round_request) { return round_request.has_more; }))
    return false;
  set_grants(exchange_values(grant_round(round_bytes_, round_, of_all), processes_));
  return true;
}

bool Rounds::is_granted(const PlannedChunk& planned, const RoundPlan& plan) const {
  if (!plan.chunks.empty() && plan.room + planned.chunk.room > round_bytes_) return false;
  return std::all_of(planned.asked.begin(), planned.asked.end(),
                     [&](const auto& asked) { return asked.second <= granted_[asked.first]; });
}

void Rounds::take_chunks(RoundPlan& plan) {
  plan.chunks.clear();
  plan.room = plan.chunk_bytes = 0;
  plan.received.clear(peers_);
  std::vector<RequestWriter> requests(peers_);
  while (!ahead_.empty() && is_granted(ahead_.front(), plan)) {
    for (const auto& [peer, bytes] : ahead_.front().asked) granted_[peer] -= bytes;
    ChunkInRound& chunk = plan.chunks.emplace_back(std::move(ahead_.front().chunk));
    ahead_.pop_front();
    bytes_ahead_ -= chunk.room;
    plan.room += chunk.room;
    chunk.offset = plan.chunk_bytes;
    if (!chunk.is_own)
      plan.chunk_bytes = round_up(checked_add(plan.chunk_bytes, chunk.chunk.bytes), 16);  // for GPUs' wide words
    for (ChunkInRound::Piece& piece : chunk.pieces) {
      requests[piece.peer].add(piece.transfer);
      piece.message_offset = plan.received.sizes[piece.peer];
      plan.received.sizes[piece.peer] += message_bytes(piece.transfer);
    }
  }
  ++round_;
  plan.received.place();
  plan.requests.clear();
  for (RequestWriter& request : requests) plan.requests.push_back(request.take());
}

void Rounds::ask(RoundPlan& plan) {
  plan.requests = processes_.all_to_all(std::move(plan.requests));
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
