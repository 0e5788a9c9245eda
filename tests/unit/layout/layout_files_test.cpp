#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "catch.hpp"
#include "layout/language/layout.hpp"

using namespace ckpt;

namespace {

std::vector<std::filesystem::path> json_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(CKPT_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_CASE("every wrong layout is refused, with its name in the message") {
  const auto files = json_files("tests/layouts/wrong");
  CHECK(files.size() > 30);
  for (const auto& file : files) {
    INFO(file);
    try {
      parse_layout(content(file), "wrong.json");
      FAIL_CHECK("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == Kind::layout);
      CHECK_THAT(error.what(), Catch::Matchers::StartsWith("wrong.json: "));
      CHECK_THAT(error.what(), Catch::Matchers::Contains("found "));
    }
  }
}

TEST_CASE("every good and every ready layout is accepted, and its canonical text gives it back") {
  for (const auto* const folder : {"tests/layouts/good", "layouts"}) {
    const auto files = json_files(folder);
    CHECK_FALSE(files.empty());
    for (const auto& file : files) {
      INFO(file);
      const auto text = to_json(parse_layout(content(file), file.filename()));
      CHECK(to_json(parse_layout(text, "canonical")) == text);
    }
  }
}

}  // namespace
