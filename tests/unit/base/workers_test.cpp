#include "base/workers.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <new>

#include "base/error.hpp"
#include "base/limits.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

/// After so many allocations of this thread all others fail.
thread_local int allocations_left = -1;

/// Whatever threads are started while it lives have stacks of this size.
class StackSize {
 public:
  explicit StackSize(std::size_t bytes) {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, bytes);
    REQUIRE(pthread_setattr_default_np(&huge) == 0);
    pthread_attr_destroy(&huge);
  }
  ~StackSize() { pthread_setattr_default_np(&before_); }
  StackSize(const StackSize&) = delete;
  StackSize& operator=(const StackSize&) = delete;

 private:
  pthread_attr_t before_{};
};

/// A limit on addresses while it lives.
class AddressLimit {
 public:
  explicit AddressLimit(std::uint64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit low{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &low) == 0);
  }
  ~AddressLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

void* operator new(std::size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

TEST_CASE("every task runs once, however many workers there are") {
  const unsigned count = GENERATE(1U, 2U, 5U);
  Workers workers(count);
  CHECK(workers.count() == count);
  std::vector<std::atomic<int>> ran(1000);
  TaskGroup tasks(workers);
  for (auto& each : ran) tasks.run([&each] { ++each; });
  tasks.wait();
  CHECK(tasks.is_done_within(std::chrono::seconds(0)));
  CHECK(std::all_of(ran.begin(), ran.end(), [](const auto& each) { return each == 1; }));
}

TEST_CASE("one worker takes tasks in their order") {
  Workers workers(1);
  TaskGroup tasks(workers);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) tasks.run([&order, i] { order.push_back(i); });
  tasks.wait();
  CHECK(order.size() == 100);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("the first error is thrown once, and tasks not yet begun are passed over") {
  Workers workers(1);
  TaskGroup tasks(workers);
  std::promise<void> go;
  int after = 0;
  tasks.run([&] {
    go.get_future().wait();  // until all are given
    throw Error(Kind::io, "disk full");
  });
  for (int i = 0; i < 50; ++i) tasks.run([&] { ++after; });
  go.set_value();
  CHECK_THROWS_WITH(tasks.wait(), "disk full");
  CHECK(after == 0);
  tasks.wait();  // told once
  tasks.run([&] { ++after; });
  tasks.wait();
  CHECK(after == 1);
}

TEST_CASE("a group waits for its own tasks only") {
  Workers workers(2);
  TaskGroup slow(workers);
  TaskGroup quick(workers);
  std::promise<void> go;
  slow.run([&] { go.get_future().wait(); });
  int done = 0;
  quick.run([&] { ++done; });
  quick.wait();
  CHECK(done == 1);
  CHECK_FALSE(slow.is_done_within(std::chrono::milliseconds(1)));
  go.set_value();
  CHECK(slow.is_done_within(std::chrono::hours(1)));
  slow.wait();
}

TEST_CASE("a group that goes waits for what has begun and leaves nothing behind") {
  Workers workers(1);
  std::atomic<int> ran{0};
  {
    std::promise<void> begun;
    TaskGroup tasks(workers);
    tasks.run([&] {
      begun.set_value();
      ++ran;
    });
    for (int i = 0; i < 10; ++i) tasks.run([&] { ++ran; });
    begun.get_future().wait();
  }
  const int at_end = ran;
  CHECK(at_end >= 1);
  TaskGroup next(workers);
  next.run([] {});
  next.wait();
  CHECK(ran == at_end);
}

TEST_CASE("an error of another type comes through as it is") {
  Workers workers(2);
  TaskGroup tasks(workers);
  tasks.run([] { throw 42; });
  CHECK_THROWS_AS(tasks.wait(), int);
}

TEST_CASE("a task that cannot be noted for want of memory is an error, and nobody waits for it") {
  Workers workers(1);
  int ran = 0;
  int refused = 0;
  for (int allowed = 0; allowed < 8; ++allowed) {
    TaskGroup tasks(workers);
    std::function<void()> task = [&ran] { ++ran; };
    allocations_left = allowed;
    try {
      tasks.run(std::move(task));
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    allocations_left = -1;
    tasks.wait();
  }
  CHECK(refused > 0);
  CHECK(ran == 8 - refused);
}

TEST_CASE("where no thread can be started there is one clear error") {
  const StackSize more_than_there_is(std::size_t{1} << 47);
  CHECK_THROWS_WITH(Workers(4), Catch::Matchers::Contains("threads: none can be started (") &&
                                    Catch::Matchers::Contains("ulimit -u"));
  CHECK(Workers(0).count() == 0);
}

TEST_CASE("where fewer threads can be started than asked for, these do all the work") {
  constexpr std::uint64_t stack = 1ULL << 30;
  const StackSize large(stack);
  const AddressLimit room_for_two(mapped_bytes() + 2 * stack + stack / 2);
  Workers workers(8);
  CHECK(workers.count() == 2);
  std::atomic<int> ran{0};
  TaskGroup tasks(workers);
  for (int i = 0; i < 100; ++i) tasks.run([&] { ++ran; });
  tasks.wait();
  CHECK(ran == 100);
}
