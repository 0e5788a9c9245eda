#include "tables/keyed/newest_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/checked.hpp"
#include "base/parallel.hpp"
#include "base/wire.hpp"
#include "tables/keyed/last_events.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t bytes_per_compared_key = 64;  // its row here; in the comparison, the key twice and its answer

enum class Role : std::uint8_t { rows, tails, deletions };

constexpr Role last_of(Role) {
  return Role::deletions;
}

enum class Answer : char { dropped, taken, without_row };

/// The keys of one batch, as they are sent to the process that compares them.
struct Segment {
  Role role = Role::rows;
  bool is_taken = false;
  std::uint64_t layer = 0;
  std::string_view keys;
  std::vector<std::uint64_t> without_row;  // for tails: indices of keys without a row in their own layer, ascending

  bool is_answered() const { return role != Role::deletions && is_taken; }
  std::uint64_t count() const { return keys.size() / sizeof(std::uint64_t); }
  std::uint64_t key(std::uint64_t at) const {
    std::uint64_t key = 0;
    std::memcpy(&key, keys.data() + at * sizeof key, sizeof key);
    return key;
  }
};

std::vector<Segment> segments_of(std::string_view message) {
  std::vector<Segment> segments;
  for (wire::Reader in(message, "keys of another process"); in.left() > 0;) {
    Segment& segment = segments.emplace_back();
    in.take_into(std::tie(segment.role, segment.is_taken, segment.layer, segment.keys));
  }
  return segments;
}

/// Processes the events of all segments in the order of time, so that tails are checked against the rows of their own
/// layer.
LastEvents last_events(std::vector<std::vector<Segment>>& all) {
  std::uint64_t count = 0;
  std::vector<Segment*> by_time;
  for (auto& segments : all)
    for (Segment& segment : segments) {
      count += segment.role == Role::tails ? 0 : segment.count();
      by_time.push_back(&segment);
    }
  std::sort(by_time.begin(), by_time.end(), [](const Segment* a, const Segment* b) {
    return std::pair(a->layer, a->role == Role::tails) < std::pair(b->layer, b->role == Role::tails);
  });
  LastEvents events(count);
  for (Segment* const segment : by_time)
    for (std::uint64_t i = 0; i < segment->count(); ++i) {
      const std::uint64_t key = segment->key(i);
      if (segment->role != Role::tails)
        events.add(
            key, segment->role == Role::rows ? row_in(segment->layer, segment->is_taken) : deletion_in(segment->layer));
      else if (events.of(key) < row_in(segment->layer, false))
        segment->without_row.push_back(i);
    }
  return events;
}

/// Returns the answers to the messages of all processes about one part of the keys.
std::vector<std::string> answers_to(const std::vector<std::string_view>& messages) {
  std::vector<std::vector<Segment>> all;
  for (const std::string_view message : messages) all.push_back(segments_of(message));
  LastEvents events = last_events(all);
  std::vector<std::string> answers;
  for (const auto& segments : all) {
    std::string& text = answers.emplace_back();
    for (const Segment& segment : segments) {
      if (!segment.is_answered()) continue;
      const std::size_t begin = text.size();
      for (std::uint64_t i = 0; i < segment.count(); ++i) {
        const bool is_last = events.of(segment.key(i)) == row_in(segment.layer, true);
        text.push_back(static_cast<char>(is_last ? Answer::taken : Answer::dropped));
      }
      for (const std::uint64_t i : segment.without_row) text[begin + i] = static_cast<char>(Answer::without_row);
    }
  }
  return answers;
}

/// One process's side of a join.
class Join {
 public:
  Join(const std::vector<TableLayer>& layers, unsigned threads, Communicator& processes)
      : threads_(threads), processes_(processes), parts_(threads * static_cast<std::size_t>(processes.size())) {
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      add(layers[layer].rows, Role::rows, layer);
      for (const SharedTable& tails : layers[layer].tails) add(tails, Role::tails, layer);
      if (layers[layer].deletions) add(*layers[layer].deletions, Role::deletions, layer);
    }
  }

  void run(std::uint64_t memory_bytes) {
    std::uint64_t rows = 0;
    for (const Source& source : sources_) rows += source.shared.table.total_rows();
    const std::uint64_t needed =
        checked_mul(ceil_div(rows, static_cast<std::uint64_t>(processes_.size())), bytes_per_compared_key, "tables");
    const auto bits = static_cast<unsigned>(
        std::bit_width(std::max<std::uint64_t>(ceil_div(needed, std::max<std::uint64_t>(memory_bytes, 1)), 1) - 1));
    for (std::uint64_t subset = 0; subset < 1ULL << bits; ++subset) compare(bits, subset);
  }

 private:
  struct Source {
    SharedTable shared;
    Role role;
    std::uint64_t layer;
  };
  struct Task {
    std::size_t source = 0;
    std::size_t own_batch = 0;
  };
  /// The rows of a segment that is to be answered, in its order.
  struct RowRequest {
    Task task;
    std::vector<std::uint32_t> rows;
  };
  struct Part {
    std::string message;
    std::vector<RowRequest> asked;
  };

  void add(const SharedTable& shared, Role role, std::uint64_t layer) {
    sources_.push_back({shared, role, layer});
    if (role != Role::deletions) shared.share.take_all();
    for (std::size_t own = 0; own < shared.share.own.size(); ++own) tasks_.push_back({sources_.size() - 1, own});
  }

  void compare(unsigned bits, std::uint64_t subset) {
    parts_.assign(parts_.size(), {});
    agree(processes_, [&] {
      for_each_in_parallel(threads_, tasks_.size(), [&](std::uint64_t n) { ask(tasks_[n], bits, subset); });
    });
    const std::vector<std::string> received =
        processes_.all_to_all(to_processes([&](std::size_t part) { return std::exchange(parts_[part].message, {}); }));
    std::vector<std::vector<std::string>> answers(threads_);  // by own part, to each process
    agree(processes_, [&] {
      std::vector<std::vector<std::string_view>> messages(threads_);
      for (const std::string& from : received) {
        wire::Reader in(from, "keys of another process");
        for (auto& part : messages) part.push_back(in.take<std::string_view>());
      }
      for_each_in_parallel(threads_, threads_, [&](std::uint64_t part) { answers[part] = answers_to(messages[part]); });
    });
    const std::vector<std::string> told = processes_.all_to_all(
        to_processes([&](std::size_t part) { return std::exchange(answers[part % threads_][part / threads_], {}); }));
    agree(processes_, [&] { take(told); });
  }

  /// Builds a message to each process from the result of `text` for each of its parts.
  template <class Text>
  std::vector<std::string> to_processes(const Text& text) const {
    std::vector<std::string> messages;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      if (part % threads_ == 0) messages.emplace_back();
      messages.back() += wire::packed(text(part));
    }
    return messages;
  }

  void ask(const Task& task, unsigned bits, std::uint64_t subset) {
    const auto& [shared, role, layer] = sources_[task.source];
    const Batch batch = shared.share.batches[shared.share.own[task.own_batch]];
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(batch.rows.size()));
    shared.reader.read_keys(shared.table, batch.server, batch.rows.lo, keys);
    const auto kept = shared.share.kept_in(task.own_batch);
    struct PartRows {
      std::string keys;
      std::vector<std::uint32_t> rows;
    };
    std::vector<PartRows> found(2 * parts_.size());  // by part, with those that are not taken first
    for (std::size_t row = 0; row < keys.size(); ++row) {
      const std::uint64_t mixed = mix(keys[row]);
      if (bits != 0 && mixed >> (64 - bits) != subset) continue;
      const bool is_taken = kept.empty() || (kept[row / 64] >> (row % 64) & 1) != 0;
      const std::uint64_t part = ((mixed << bits >> 32) * parts_.size()) >> 32;
      PartRows& to = found[2 * part + (is_taken ? 1 : 0)];
      to.keys.append(reinterpret_cast<const char*>(&keys[row]), sizeof(std::uint64_t));
      if (is_taken && role != Role::deletions) to.rows.push_back(static_cast<std::uint32_t>(row));
    }
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool is_taken = i % 2 == 1;
      if (found[i].keys.empty() || (role == Role::tails && !is_taken)) continue;
      parts_[i / 2].message += wire::packed(role, is_taken, layer, found[i].keys);
      if (is_taken && role != Role::deletions) parts_[i / 2].asked.push_back({task, std::move(found[i].rows)});
    }
  }

  void take(const std::vector<std::string>& told) {
    for (std::size_t process = 0; process < told.size(); ++process) {
      wire::Reader in(told[process], "answers of another process");
      for (std::size_t t = 0; t < threads_; ++t) {
        const auto answers = in.take<std::string_view>();
        std::size_t next = 0;
        for (const RowRequest& asked : parts_[process * threads_ + t].asked) {
          auto& kept = sources_[asked.task.source].shared.share.kept[asked.task.own_batch];
          for (const std::uint32_t row : asked.rows) {
            const auto answer = static_cast<Answer>(answers.at(next++));
            if (answer == Answer::without_row) refuse_tail(asked.task, row);
            if (answer == Answer::dropped) kept[row / 64] &= ~(std::uint64_t{1} << (row % 64));
          }
        }
      }
    }
  }

  [[noreturn]] void refuse_tail(const Task& task, std::uint32_t row) const {
    const auto& [shared, role, layer] = sources_[task.source];
    const Batch batch = shared.share.batches[shared.share.own[task.own_batch]];
    std::uint64_t key = 0;
    shared.reader.read_keys(shared.table, batch.server, batch.rows.lo + row, std::span(&key, 1));
    const auto rows = std::find_if(sources_.begin(), sources_.end(), [&, at = layer](const Source& source) {
      return source.role == Role::rows && source.layer == at;
    });
    throw Error(Kind::input, shared.reader.describe(shared.table.keys(), batch.server),
                {"row " + std::to_string(batch.rows.lo + row) + " has key " + shared.table.key_text(key) +
                     ", which table '" + rows->shared.table.name + "' has not",
                 "a row of '" + rows->shared.table.name + "' for each of '" + shared.table.name + "', which follows it",
                 "rows that are no tails belong into a table of another name"});
  }

  unsigned threads_;
  Communicator& processes_;
  std::vector<Source> sources_;
  std::vector<Task> tasks_;
  std::mutex mutex_;         // guards the members below
  std::vector<Part> parts_;  // parts of the keys: `threads` of each process
};

}  // namespace

void take_newest_rows(const std::vector<TableLayer>& layers, std::uint64_t memory_bytes, unsigned threads,
                      Communicator& processes) {
  Join(layers, threads, processes).run(memory_bytes);
}

}  // namespace ckpt
