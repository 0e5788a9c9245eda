#include "checkpoint/file_cache.hpp"

#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

struct Opened {
  Opened(std::vector<std::uint64_t>& closed, std::uint64_t number) : closed_(closed), card(number) {}
  ~Opened() { closed_.push_back(card); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  Opened(Opened&&) = delete;
  Opened& operator=(Opened&&) = delete;

  std::vector<std::uint64_t>& closed_;
  std::uint64_t card;
};

struct Counted {
  std::vector<std::uint64_t> opened;
  std::vector<std::uint64_t> closed;
  FileCache<Opened> cache{2, [this](std::uint64_t card) {
                            opened.push_back(card);
                            return std::make_shared<Opened>(closed, card);
                          }};
};

}  // namespace

TEST_CASE("the least recently used file is closed for a new one") {
  Counted files;
  files.cache.get(1);
  files.cache.get(2);
  CHECK(files.cache.get(1)->card == 1);
  files.cache.get(3);
  CHECK(files.closed == std::vector<std::uint64_t>{2});
  files.cache.get(1);
  CHECK(files.opened == std::vector<std::uint64_t>{1, 2, 3});
  files.cache.get(2);
  CHECK(files.opened.back() == 2);
  CHECK(files.closed == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("a file in use stays open when the cache lets go of it") {
  Counted files;
  auto held = files.cache.get(1);
  files.cache.get(2);
  files.cache.get(3);
  files.cache.get(4);
  CHECK(files.closed == std::vector<std::uint64_t>{2});
  CHECK(held->card == 1);
  held.reset();
  CHECK(files.closed == std::vector<std::uint64_t>{2, 1});
}

TEST_CASE("a file that cannot be opened leaves the cache as it was") {
  bool fails = true;
  FileCache<int> cache(2, [&](std::uint64_t card) {
    if (fails) throw Error(Kind::io, "too many open files");
    return std::make_shared<int>(static_cast<int>(card));
  });
  CHECK_THROWS_AS(cache.get(7), Error);
  fails = false;
  CHECK(*cache.get(7) == 7);
}

TEST_CASE("where the system allows no other file, old ones are closed until it does") {
  std::size_t open = 0;
  FileCache<int> cache(10, [&](std::uint64_t card) {
    if (open == 2) throw TooManyOpenFiles(Error(Kind::io, "no more than two"));
    ++open;
    return std::shared_ptr<int>(new int(static_cast<int>(card)), [&open](int* file) {
      --open;
      delete file;
    });
  });
  for (int turn = 0; turn < 2; ++turn)
    for (int card = 0; card < 5; ++card) CHECK(*cache.get(static_cast<std::uint64_t>(card)) == card);
  const auto one = cache.get(1);
  const auto two = cache.get(2);
  CHECK_THROWS_AS(cache.get(3), TooManyOpenFiles);  // both are in use
  CHECK(*cache.get(1) == 1);                        // they stay
}

TEST_CASE("what a cache may hold is a part of what is left, whatever the limit") {
  CHECK(files_in_cache({20600, 20}, 8) == 4096);
  CHECK(files_in_cache({1024, 20}, 2) == 200);
  for (const unsigned threads : {1U, 2U, 16U})
    for (const std::uint64_t most : {64U, 100U, 1024U, 4096U}) {
      const std::size_t each = files_in_cache({most, 18}, threads);
      CAPTURE(threads, most);
      CHECK(each >= 1);
      CHECK(18 + 4 * each + 2 * threads < most);  // a source may be open three times
    }
}

TEST_CASE("a limit that leaves nothing for files is an error that names it") {
  CHECK(files_in_cache({28, 19}, 2) == 1);
  CHECK_THROWS_WITH(files_in_cache({27, 19}, 2),
                    "ulimit -n: it allows 27 open files, expected at least 28 for 2 threads (19 are open already); "
                    "raise it");
}
