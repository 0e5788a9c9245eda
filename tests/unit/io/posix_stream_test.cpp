#include "io/posix_stream.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "catch.hpp"
#include "small_files.hpp"

using namespace ckpt;

namespace {

using Catch::Matchers::Contains;
using fixture::error_of;

enum class Channel { pipe, socket };

/// Both ends of what bytes go through.
struct Ends {
  explicit Ends(Channel channel) {
    std::signal(SIGPIPE, SIG_IGN);  // as in the programs
    std::array<int, 2> ends{};
    REQUIRE((channel == Channel::pipe ? ::pipe(ends.data()) : ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data())) == 0);
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
  }
  Fd reader;
  Fd writer;
};

const std::string text(3'000'000, 'x');  // more than any channel keeps

std::span<const std::byte> bytes(const std::string& of) {
  return std::as_bytes(std::span(of));
}

void nothing() {}

}  // namespace

TEST_CASE("A stream takes all bytes, however small the pieces in which they are read") {
  const Ends ends(GENERATE(Channel::pipe, Channel::socket));
  std::string found;
  std::thread reader([&] {
    std::array<char, 4000> piece{};
    while (found.size() < text.size()) {
      const ssize_t count = ::read(ends.reader.get(), piece.data(), piece.size());
      if (count <= 0) return;
      found.append(piece.data(), static_cast<std::size_t>(count));
    }
  });
  PosixStream stream("a stream", ends.writer.get());
  stream.write(bytes(text), nothing);
  stream.sync();
  reader.join();
  CHECK((found == text));
  CHECK(stream.written() == text.size());
  CHECK((::fcntl(ends.writer.get(), F_GETFL) & O_NONBLOCK) == 0);  // it is others', too
}

TEST_CASE("Who waits for a reader is asked whether to go on") {
  const Ends ends(GENERATE(Channel::pipe, Channel::socket));
  PosixStream stream("a stream", ends.writer.get());
  CHECK_THAT(error_of([&] {
               stream.write(bytes(text), [&] {
                 if (stream.written() > 0) throw Error(Kind::interrupted, "enough");
               });
             }),
             Contains("enough"));
  CHECK(stream.written() < text.size());
}

TEST_CASE("A reader that has gone is an error") {
  Ends ends(GENERATE(Channel::pipe, Channel::socket));
  PosixStream stream("a stream", ends.writer.get());
  stream.write(bytes("begun"), nothing);
  ends.reader.reset();
  CHECK(
      error_of([&] { stream.write(bytes(text), nothing); }) ==
      "a stream: its reader ended when 5 B were written, expected one that reads to the end; see what the reader says");
}

TEST_CASE("A file takes a stream where it stands; a full one and a closed one are errors") {
  const fixture::TemporaryDirectory folder;
  fixture::put_bytes(folder / "a", "begun, ");
  const Fd file(::open((folder / "a").c_str(), O_WRONLY | O_APPEND));
  PosixStream stream("a stream", file.get());
  stream.write(bytes("ended"), nothing);
  stream.sync();
  CHECK(fixture::bytes_of(folder / "a") == "begun, ended");

  const Fd full(::open("/dev/full", O_WRONLY));
  CHECK_THAT(error_of([&] { PosixStream("full", full.get()).write(bytes("x"), nothing); }),
             Contains("full: write: No space"));
  CHECK_THAT(error_of([] { PosixStream("closed", -1); }), Contains("closed: write") && Contains("is it open?"));
}
