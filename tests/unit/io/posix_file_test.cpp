#include "io/posix_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "small_files.hpp"

using namespace ckpt;

namespace {

/// Not every file system does (RWF_NOWAIT); those in memory do not, for one.
bool tells_what_is_in_memory(const PosixFile& file) {
  char byte = 0;
  const struct iovec one { &byte, 1 };
  return ::preadv2(file.fd(), &one, 1, 0, RWF_NOWAIT) == 1;
}

using Catch::Matchers::Contains;
using fixture::error_of;

TEST_CASE("A file gives back what was written at an offset") {
  const fixture::TemporaryDirectory folder;
  const PosixFile file = PosixFile::create(folder / "a");
  file.resize(100);
  file.write(90, std::as_bytes(std::span("0123456789", 10)));
  std::string found(12, 'x');
  file.read(88, std::as_writable_bytes(std::span(found)));
  CHECK(found == std::string("\0\0", 2) + "0123456789");
  file.sync();
  CHECK(file.status().bytes == 100);
  CHECK(file.status().modified_ns > 1'500'000'000'000'000'000);
}

TEST_CASE("A file has room for all that is to be written, found now where the file system gains by it") {
  const fixture::TemporaryDirectory folder;
  const auto bytes_on_disk = [&](const char* name, std::uint64_t bytes) {
    const PosixFile file = PosixFile::create(folder / name);
    file.make_room(bytes);
    CHECK(file.status().bytes == bytes);
    std::vector<std::byte> found(bytes, std::byte{1});
    file.read(0, found);
    CHECK(std::all_of(found.begin(), found.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    struct stat info {};
    REQUIRE(::fstat(file.fd(), &info) == 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
  };
  constexpr std::uint64_t large = (3ULL << 20) + 24;
  const std::uint64_t of_large = bytes_on_disk("large", large);
  const std::uint64_t of_small = bytes_on_disk("small", 1000);
  struct statfs system {};
  REQUIRE(::statfs((folder / "large").c_str(), &system) == 0);
  const PosixFile other = PosixFile::create(folder / "other");
  if (system.f_type == EXT4_SUPER_MAGIC && ::fallocate(other.fd(), 0, 0, 1 << 20) == 0) {  // not ext3
    CHECK(of_large >= large);
    CHECK(of_small == 0);
  }
  CHECK_THROWS_AS(PosixFile::create(folder / "a").make_room(~std::uint64_t{0}), Error);
}

TEST_CASE("Creating a file empties one that is there, opening it for writing does not") {
  const fixture::TemporaryDirectory folder;
  fixture::put_bytes(folder / "a", "text");
  CHECK(PosixFile::open_for_writing(folder / "a").status().bytes == 4);
  CHECK(PosixFile::create(folder / "a").status().bytes == 0);
}

TEST_CASE("Reading past the end says where the file ends") {
  const fixture::TemporaryDirectory folder;
  fixture::put_bytes(folder / "a", "0123456789");
  const PosixFile file = PosixFile::open_for_reading(folder / "a");
  std::string found(8, 'x');
  const std::string message = error_of([&] { file.read(5, std::as_writable_bytes(std::span(found))); });
  CHECK(message == (folder / "a").string() + ": ends at byte 10, expected 13; was it truncated?");
}

TEST_CASE("Offsets that no file has are refused") {
  const fixture::TemporaryDirectory folder;
  const PosixFile file = PosixFile::create(folder / "a");
  std::string found(8, 'x');
  CHECK_THROWS_AS(file.read(~std::uint64_t{0} - 3, std::as_writable_bytes(std::span(found))), Error);
  CHECK_THROWS_AS(file.read(std::uint64_t{1} << 63, std::as_writable_bytes(std::span(found))), Error);
  CHECK_THROWS_AS(file.resize(~std::uint64_t{0}), Error);
}

TEST_CASE("What is needed soon comes into memory without being read; what cannot come is no error") {
  const fixture::TemporaryDirectory folder;
  const PosixFile file = PosixFile::create(folder / "a");
  constexpr std::size_t size = 64 << 10;
  file.write(0, std::vector<std::byte>(size));
  file.sync();
  file.drop_cached();
  file.will_need(0, size);
  file.will_need(0, 0);
  file.will_need(size, size);
  file.will_need(~std::uint64_t{0} - 3, size);
  file.will_need(8, ~std::uint64_t{0} - 3);

  void* mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd(), 0);
  REQUIRE(mapped != MAP_FAILED);
  std::vector<unsigned char> pages(size / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  const auto are_there = [&] {
    return mincore(mapped, size, pages.data()) == 0 &&
           std::all_of(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1U) != 0; });
  };
  for (int tries = 0; tries < 1000 && !are_there(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(are_there());
  munmap(mapped, size);
  if (tells_what_is_in_memory(file)) CHECK(file.will_need(0, size));  // there is nothing to ask for
}

TEST_CASE("What is in memory is read at once, all of it or nothing") {
  const fixture::TemporaryDirectory folder;
  const PosixFile file = PosixFile::create(folder / "a");
  std::vector<std::byte> written(100'000);
  for (std::size_t i = 0; i < written.size(); ++i) written[i] = static_cast<std::byte>(i * 7 >> 3U);
  file.write(0, written);
  std::vector<std::byte> found(80'000);
  const bool is_told = tells_what_is_in_memory(file);
  CHECK(file.read_if_there(10'000, found) == is_told);  // else the file system says nothing, and it is read as usual
  if (is_told) CHECK(std::equal(found.begin(), found.end(), written.begin() + 10'000));
  CHECK_FALSE(file.read_if_there(20'001, found));  // beyond its end
  CHECK_FALSE(file.read_if_there(200'000, found));
  file.sync();
  file.drop_cached();
  if (!is_in_memory(file.fd(), 0, found.size())) CHECK_FALSE(file.read_if_there(0, found));
}

TEST_CASE("What is no readable file is named") {
  const fixture::TemporaryDirectory folder;
  const auto open = [&](const std::string& name) {
    return error_of([&] { PosixFile::open_for_reading(folder / name); });
  };
  CHECK_THAT(open("missing"), Contains("missing: no such file"));
  CHECK_THAT(open("."), Contains("is a directory"));
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THAT(open("pipe"), Contains("is no regular file"));
  CHECK_THAT(error_of([&] { PosixFile::create(folder / "no/such/folder"); }),
             Contains("create: No such file or directory"));
}

}  // namespace
