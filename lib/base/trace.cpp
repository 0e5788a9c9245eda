#include "base/trace.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

namespace ckpt::trace {

namespace {

/// Spans of one thread whose beginnings are this close are joined at once, if they follow one another.
constexpr Ns first_window = 100'000;

Ns ns(Clock::time_point moment) {
  return std::chrono::nanoseconds(moment.time_since_epoch()).count();
}

struct ShortSpan {
  const char* name;
  bool is_phase;
  Ns begin;
  Ns length;
};

/// The spans of one thread at a time. Another one may look at them meanwhile.
class Recorder {
 public:
  explicit Recorder(std::size_t most) : most_(most) {}

  void add(const ShortSpan& span) {
    const std::lock_guard lock(mutex_);
    if (!span.is_phase && !spans_.empty() && spans_.back().name == span.name && is_near(spans_.back(), span)) {
      spans_.back().length += span.length;
      return;
    }
    spans_.push_back(span);
    if (spans_.size() < most_) return;
    for (join(); spans_.size() > most_ / 2 && window_ < longest_window; join()) window_ *= 2;
  }

  Row row() const {
    const std::lock_guard lock(mutex_);
    Row row;
    for (const auto& [name, is_phase, begin, length] : spans_) row.spans.push_back({name, is_phase, begin, length});
    return row;
  }

 private:
  static constexpr Ns longest_window = Ns{1} << 60;

  bool is_near(const ShortSpan& first, const ShortSpan& next) const {
    return !first.is_phase && next.begin - first.begin < window_;
  }

  /// In each window of time one span of each name remains. They follow one another from the window's beginning, and so
  /// end before the next window; a phase's end ends a window, too, so that all stay within it.
  void join() {
    std::vector<ShortSpan> joined;
    std::size_t first = 0;  // of this window
    for (const ShortSpan& span : spans_) {
      if (span.is_phase || first == joined.size() || !is_near(joined[first], span)) {
        first = joined.size() + (span.is_phase ? 1 : 0);
        joined.push_back(span);
        continue;
      }
      const auto same = std::find_if(joined.begin() + static_cast<std::ptrdiff_t>(first), joined.end(),
                                     [&](const ShortSpan& each) { return each.name == span.name; });
      if (same == joined.end())
        joined.push_back(span);
      else
        same->length += span.length;
      for (std::size_t i = first + 1; i < joined.size(); ++i)
        joined[i].begin = joined[i - 1].begin + joined[i - 1].length;
    }
    spans_ = std::move(joined);
  }

  std::size_t most_;
  Ns window_ = first_window;
  std::vector<ShortSpan> spans_;
  mutable std::mutex mutex_;
};

struct State {
  std::mutex mutex;
  std::atomic<bool> is_on{false};
  std::size_t most = 0;
  std::vector<std::shared_ptr<Recorder>> all;
  std::vector<std::shared_ptr<Recorder>> unused;  ///< their threads have ended
};

/// Never destroyed: threads that are left to the end of the process may still record.
State& state() {
  static auto* const state = new State;
  return *state;
}

/// A thread's recorder. It was another thread's if one has ended: rows stay as few as threads that run at once.
class Own {
 public:
  Own() {
    const std::lock_guard lock(state().mutex);
    if (state().unused.empty()) {
      recorder_ = state().all.emplace_back(std::make_shared<Recorder>(state().most));
      return;
    }
    recorder_ = std::move(state().unused.back());
    state().unused.pop_back();
  }
  Own(const Own&) = delete;
  Own& operator=(const Own&) = delete;
  ~Own() {
    const std::lock_guard lock(state().mutex);
    state().unused.push_back(std::move(recorder_));
  }
  Recorder& operator*() const { return *recorder_; }

 private:
  std::shared_ptr<Recorder> recorder_;
};

Recorder& own() {
  thread_local const Own own;
  return *own;
}

void add(const char* name, bool is_phase, Clock::time_point begin, Clock::time_point end) {
  if (state().is_on.load(std::memory_order_relaxed)) own().add({name, is_phase, ns(begin), ns(end) - ns(begin)});
}

}  // namespace

void begin(std::size_t most) {
  {
    const std::lock_guard lock(state().mutex);
    state().most = most;
    state().is_on = true;
  }
  static_cast<void>(own());
}

std::vector<Row> rows() {
  const std::lock_guard lock(state().mutex);
  std::vector<Row> rows;
  for (const auto& recorder : state().all) rows.push_back(recorder->row());
  return rows;
}

void note(const char* name, Clock::time_point begin, Clock::time_point end) {
  add(name, false, begin, end);
}

void note_phase(const char* name, Clock::time_point begin, Clock::time_point end) {
  add(name, true, begin, end);
}

}  // namespace ckpt::trace
