// Streams as threads, and events. Each piece of work waits a little before it is done, at random, and one stream at a
// time much longer: what nobody put in order happens in the wrong one sooner or later.
#include "gpu/emulated/streams.hpp"

#include <chrono>
#include <set>

#include "gpu/emulated/runtime.hpp"

namespace emulated {

namespace {

constexpr unsigned ordinary_us = 150;
constexpr unsigned most_queries = 6;  // that the lagging stream lets pass before it goes on
constexpr std::chrono::milliseconds most_lag{25};
constexpr unsigned streams_of_device = 3;
constexpr unsigned changes_after = 24;  // pieces of work of a stream until another one may lag

std::set<cudaStream_t>& streams() {
  static auto* all = new std::set<cudaStream_t>;
  return *all;
}
std::set<cudaEvent_t>& events() {
  static auto* all = new std::set<cudaEvent_t>;
  return *all;
}

/// With the mutex held: waits before a piece of work. The lagging stream goes on when the program has asked for events
/// in vain often enough, or after a while: so it is late however slow the machine is.
void delay(CUstream_st& stream, std::unique_lock<std::mutex>& lock) {
  Runtime& all = runtime();
  if (all.below(changes_after) == 0) all.lagging = static_cast<unsigned>(all.below(streams_of_device));
  if (stream.number % streams_of_device == all.lagging) {
    const std::uint64_t enough = all.queries + 1 + all.below(most_queries);
    all.changed.wait_for(lock, most_lag, [&] {
      return all.queries >= enough || all.is_synchronizing || all.is_broken() || stream.is_ending;
    });
  } else if (all.below(2) == 0) {
    lock.unlock();
    sleep_up_to(stream.engine, ordinary_us);
    lock.lock();
  }
}

void work_off(CUstream_st& stream) {
  Runtime& all = runtime();
  std::unique_lock lock(all.mutex);
  while (stream.wait(lock, [&] { return !stream.queue.empty(); })) {
    auto& work = stream.queue.front();  // only this thread takes it out
    delay(stream, lock);
    if (all.is_broken() || stream.is_ending) break;
    lock.unlock();
    if (work.run) work.run(stream);
    lock.lock();
    if (work.end && !all.is_broken()) work.end();
    stream.queue.pop_front();
    all.changed.notify_all();
  }
  stream.queue.clear();  // the device is broken, or nobody is interested any more
  all.changed.notify_all();
}

}  // namespace

cudaStream_t make_stream() {
  Runtime& all = runtime();
  auto* stream = new CUstream_st(all.streams_made++, all.engine());
  streams().insert(stream);
  stream->thread = std::thread([stream] { work_off(*stream); });
  return stream;
}

void end_stream(cudaStream_t stream, std::unique_lock<std::mutex>& lock) {
  stream->is_ending = true;
  runtime().changed.notify_all();
  lock.unlock();
  stream->thread.join();
  lock.lock();
  streams().erase(stream);
  delete stream;
}

void expect_stream(cudaStream_t stream, const char* what) {
  if (streams().count(stream) == 0) misuse(std::string(what) + " of a stream that is not there");
}

void put(cudaStream_t stream, CUstream_st::Work work) {
  if (runtime().is_broken()) return;  // nobody works it off any more
  stream->queue.push_back(std::move(work));
  runtime().changed.notify_all();
}

void put_hanging(cudaStream_t stream) {
  put(stream, {"work that never ends",
               {},
               [](CUstream_st& self) {
                 std::unique_lock lock(runtime().mutex);
                 self.wait(lock, [] { return false; });
               },
               {}});
}

bool are_all_idle() {
  for (const cudaStream_t stream : streams())
    if (!stream->queue.empty()) return false;
  return true;
}

cudaEvent_t make_event() {
  auto* event = new CUevent_st;
  events().insert(event);
  return event;
}

void end_event(cudaEvent_t event) {
  events().erase(event);
  delete event;
}

void expect_event(cudaEvent_t event, const char* what) {
  if (events().count(event) == 0) misuse(std::string(what) + " of an event that is not there");
}

void expect_unused(const Range& range, const char* what) {
  for (const cudaStream_t stream : streams())
    for (const auto& work : stream->queue)
      for (const Range& used : work.uses)
        if (range.overlaps(used)) misuse(std::string(what) + " of memory that is still used by " + work.what);
}

std::string streams_left() {
  std::string text;
  if (!streams().empty()) text += std::to_string(streams().size()) + " streams; ";
  if (!events().empty()) text += std::to_string(events().size()) + " events; ";
  return text;
}

void discard_streams() {
  std::unique_lock lock(runtime().mutex);
  while (!streams().empty()) end_stream(*streams().begin(), lock);
  while (!events().empty()) end_event(*events().begin());
}

}  // namespace emulated

bool CUstream_st::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_met) {
  emulated::Runtime& all = emulated::runtime();
  all.changed.wait(lock, [&] { return is_ending || all.is_broken() || is_met(); });
  return !is_ending && !all.is_broken();
}
