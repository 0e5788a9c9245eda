#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "catch.hpp"
#include "layout/language/layout.hpp"
#include "layout/maps/name_map.hpp"

// How they are written anew: see layouts/README.md.
static void check_schema(const std::string& file_name, const std::string& schema) {
  const std::string path = CKPT_SOURCE_DIR "/layouts/" + file_name;
  if (std::getenv("CKPT_WRITE_SCHEMA") != nullptr) std::ofstream(path) << schema;
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == schema);
}

TEST_CASE("layouts/schema.json is what the language's description gives") {
  check_schema("schema.json", ckpt::layout_schema());
}

TEST_CASE("layouts/names/schema.json is what the description of maps gives") {
  check_schema("names/schema.json", ckpt::name_map_schema());
}
