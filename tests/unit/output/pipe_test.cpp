#include "output/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "catch.hpp"
#include "unit/output/output_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t file_bytes = 400'000;

/// Data of 300 and of 100,000 bytes, in two parts, that of an array of no bytes, and a last one; passages between them
/// but for gaps of zeros.
NewFile new_file() {
  NewFile file;
  file.room.bytes = file_bytes;
  file.room.data = {FileExtents(1000, 300), FileExtents({{2000, 90'000}, {95'000, 107'000}}), FileExtents(),
                    FileExtents(107'000, 192'000)};
  file.segments = {{0, std::string(900, 'h')}, {1300, std::string(10, 'm')}, {299'000, std::string(101'000, 't')}};
  return file;
}

std::string data(std::uint64_t lo, std::uint64_t hi) {
  std::string bytes;
  for (std::uint64_t at = lo; at < hi; ++at) bytes.push_back(static_cast<char>('a' + at * at % 23));
  return bytes;
}

/// Pieces that together are all data, in its order.
std::vector<Interval> pieces() {
  return {{1000, 1300},      {2000, 2001},       {2001, 80'000},    {80'000, 90'000},
          {95'000, 107'000}, {107'000, 108'000}, {108'000, 299'000}};
}

std::string whole() {
  std::string bytes(file_bytes, '\0');
  for (const FileSegment& segment : new_file().segments)
    bytes.replace(segment.offset, segment.bytes.size(), segment.bytes);
  for (const Interval& piece : pieces()) bytes.replace(piece.lo, piece.size(), data(piece.lo, piece.hi));
  return bytes;
}

/// What `work` throws.
template <class Work>
std::string thrown(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

/// A pipe that ends in a file.
class IntoFile {
 public:
  explicit IntoFile(const NewFile& file = new_file()) { pipe_.begin(file); }
  Pipe* operator->() { return &pipe_; }
  void write(Interval piece) {
    const std::string bytes = data(piece.lo, piece.hi);
    pipe_.write(piece.lo, std::as_bytes(std::span(bytes)));
  }
  std::string found() const { return read_text(path_); }

 private:
  TemporaryDirectory folder_;
  fs::path path_ = folder_ / "file";
  Fd fd_{::open(path_.c_str(), O_WRONLY | O_CREAT, 0600)};
  Pipe pipe_{PosixStream("the pipe", fd_.get())};
};

}  // namespace

TEST_CASE("data goes into a pipe in the file's order, whoever brings it first, with all that lies between") {
  std::mt19937 dice(3);
  for (int round = 0; round < 20; ++round) {
    IntoFile file;
    std::vector<Interval> order = pieces();
    std::shuffle(order.begin(), order.end(), dice);
    std::vector<std::thread> threads;
    for (const Interval piece : order) threads.emplace_back([&, piece] { file.write(piece); });
    for (std::thread& thread : threads) thread.join();
    file->finish(true);
    CHECK((file.found() == whole()));
  }
}

TEST_CASE("a pipe that is not finished lacks the file's end") {
  IntoFile file;
  for (const Interval piece : pieces()) file.write(piece);
  CHECK(file.found().size() < file_bytes);
  CHECK((whole().starts_with(file.found())));

  NewFile ends_with_data = new_file();
  ends_with_data.room.bytes = 299'000;
  ends_with_data.segments.pop_back();
  IntoFile other(ends_with_data);
  for (const Interval piece : pieces()) other.write(piece);
  CHECK((other.found() == whole().substr(0, 298'999)));
  other->finish(false);
  CHECK((other.found() == whole().substr(0, 299'000)));
}

TEST_CASE("what is no data can be changed until it is written") {
  IntoFile file;
  file->set(890, "new");
  for (const Interval piece : pieces()) file.write(piece);
  CHECK_THROWS_WITH(file->set(890, "late"), Contains("the pipe: a passage that is written already"));
  CHECK_THROWS_WITH(file->set(399'999, "too long"), Contains("written already"));
  file->set(399'000, "last");
  file->finish(false);
  CHECK((file.found() == whole().replace(890, 3, "new").replace(399'000, 4, "last")));
}

TEST_CASE("who waits for a turn that does not come gets the error that stopped the job") {
  IntoFile file;
  const auto why = std::make_exception_ptr(Error(Kind::io, "why"));
  std::vector<std::string> found(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i)
    threads.emplace_back([&, i] { found[i] = thrown([&] { file.write(pieces()[i + 1]); }); });
  file->stop(why);
  for (std::thread& thread : threads) thread.join();
  CHECK(found == std::vector<std::string>(3, "why"));
  file->stop(std::make_exception_ptr(Error(Kind::io, "another")));
  CHECK(thrown([&] { file.write(pieces()[0]); }) == "why");
}

TEST_CASE("who waits for a reader that does not read gets it, too") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  Pipe pipe(PosixStream("the pipe", writer.get()));
  constexpr std::uint64_t bytes = 8U << 20;
  NewFile file;
  file.room.bytes = bytes;
  file.room.data = {FileExtents(0, bytes)};
  pipe.begin(file);
  std::string found;
  std::thread thread([&] {
    const std::vector<std::byte> data(bytes);
    found = thrown([&] { pipe.write(0, data); });
  });
  char first = 'x';
  REQUIRE(::read(reader.get(), &first, 1) == 1);  // it is at it
  pipe.stop(std::make_exception_ptr(Error(Kind::io, "why")));
  thread.join();
  CHECK(found == "why");
}

TEST_CASE("a file without an order is refused") {
  NewFile backwards = new_file();
  backwards.room.data[1] = FileExtents({{95'000, 107'000}, {2000, 90'000}});
  CHECK_THROWS_WITH(IntoFile(backwards), Contains("another order in the file, expected their own"));
  NewFile twice = new_file();
  twice.room.data[2] = FileExtents(1200, 10);
  CHECK_THROWS_WITH(IntoFile(twice), Contains("two arrays are one in the file"));
}
