#include "base/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/log_line.hpp"
#include "catch.hpp"

using namespace ckpt;

TEST_CASE("headings alone are bold") {
  CHECK(with_bold_headings("Usage: x\n\nOptions:\n  a:\n    b:\n\nLast:") ==
        "Usage: x\n\n\x1b[1mOptions:\x1b[0m\n  a:\n    b:\n\n\x1b[1mLast:\x1b[0m");
  CHECK(with_bold_headings("").empty());
}

TEST_CASE("what is no terminal shows no colours") {
  const int descriptor = ::open("/dev/null", O_RDWR);
  CHECK_FALSE(is_terminal(descriptor));
  CHECK_FALSE(shows_colours(descriptor));
  ::close(descriptor);
}

TEST_CASE("a line of the log has its program, its level and one line of text") {
  CHECK_THAT(log::line("ckpt merge", log::Level::warning, "a\nb"),
             Catch::Matchers::Contains("ckpt merge: ") && Catch::Matchers::EndsWith(" a\\x0ab\n"));
}
