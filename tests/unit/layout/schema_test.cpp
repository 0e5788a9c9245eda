#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"
#include "layout/language/layout.hpp"

// How it is written anew: see layouts/README.md.
TEST_CASE("layouts/schema.json is what the language's description gives") {
  const std::string path = CKPT_SOURCE_DIR "/layouts/schema.json";
  if (std::getenv("CKPT_WRITE_SCHEMA") != nullptr) std::ofstream(path) << ckpt::layout_schema();
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == ckpt::layout_schema());
}
