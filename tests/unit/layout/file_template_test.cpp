#include "layout/names/file_template.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"

using namespace ckpt;

namespace {

const Mesh mesh{{"dp", "tp"}, {2, 12}, {}};

TEST_CASE("a template gives each card's path") {
  struct Case {
    std::string text;
    std::uint64_t position;
    std::string path;
  };
  const std::vector<Case> cases{
      {"rank_{card}.h5", 13, "rank_13.h5"},
      {"rank_{card:05}.h5", 13, "rank_00013.h5"},
      {"{card:01}", 13, "13"},
      {"{dp}/{tp:02}.h5", 13, "1/01.h5"},
      {"{tp}-{dp}", 23, "11-1"},
      {"{card}{card:03}x", 7, "7007x"},
      {"a..b/.c{card}", 0, "a..b/.c0"},
      {"my dir/checkpoint.json/{card}", 0, "my dir/checkpoint.json/0"},
      {"{card:020}", 5, "00000000000000000005"},
      {"plain", 5, "plain"},
  };
  for (const auto& [text, position, path] : cases) {
    INFO(text);
    CHECK(FileTemplate(text, mesh).path(mesh, position) == path);
    CHECK(FileTemplate(text, mesh).text() == text);
  }
}

TEST_CASE("card ids, not positions, name files") {
  const Mesh offset{{"a"}, {2}, {32, 18446744073709551615U}};
  CHECK(FileTemplate("{card}", offset).path(offset, 0) == "32");
  CHECK(FileTemplate("{card}", offset).path(offset, 1) == "18446744073709551615");
  const Mesh named{{"card"}, {2}, {5, 6}};
  CHECK(FileTemplate("{card}", named).path(named, 1) == "6");
}

TEST_CASE("the default template") {
  CHECK(FileTemplate().path(mesh, 3) == "rank_3.h5");
}

TEST_CASE("a template that could lead astray is a layout error") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "an empty file name"},
      {"/rank_{card}.h5", "the absolute path"},
      {"../rank_{card}.h5", "expected a path within"},
      {"a/../{card}", "expected a path within"},
      {"{card}/..", "expected a path within"},
      {"./{card}", "expected a path within"},
      {"a//{card}", "expected a path within"},
      {"{card}/", "expected a path within"},
      {std::string("a\0{card}", 8), "a NUL character"},
      {"checkpoint.json", "the checkpoint's own manifest"},
      {"checkpoint.json/{card}", "the checkpoint's own manifest"},
      {"{rank}", "found the placeholder {rank} in \"{rank}\", expected one of {card}, {dp}, {tp}"},
      {"{}", "the placeholder {}"},
      {"{card", "an open {"},
      {"{card{dp}}", "an open {"},
      {"card}", "a } without its {"},
      {"{card}}", "a } without its {"},
      {"{card:}", "{card:05}"},
      {"{card:5}", "{card:05}"},
      {"{card:0}", "{card:05}"},
      {"{card:00}", "{card:05}"},
      {"{card:021}", "{card:05}"},
      {"{card:0999999999999999999999}", "{card:05}"},
      {"{card:05d}", "{card:05}"},
      {"{dp:x}", "{card:05}"},
      {"{card:05:05}", "{card:05}"},
  };
  for (const auto& [text, message] : cases) {
    INFO(text);
    try {
      const FileTemplate made(text, mesh);
      FAIL_CHECK("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == Kind::layout);
      CHECK_THAT(error.what(), Catch::Matchers::Contains(message));
    }
  }
}

TEST_CASE("the axes that a path names") {
  using Axes = std::vector<std::size_t>;
  CHECK(FileTemplate("x{card}y{dp}", mesh).axes(mesh) == Axes{0, 1});
  CHECK(FileTemplate("{tp}-{dp}", mesh).axes(mesh) == Axes{0, 1});
  CHECK(FileTemplate("{tp}{tp}", mesh).axes(mesh) == Axes{1});
  CHECK(FileTemplate("one", mesh).axes(mesh).empty());
}

}  // namespace
