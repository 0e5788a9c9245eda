#include "store/kept_tree.hpp"

#include "catch.hpp"
#include "refused.hpp"

using namespace ckpt;
using namespace std::string_literals;
using Catch::Matchers::Contains;
using ckpt::fixture::refused;

TEST_CASE("A kept tree is a text that says whose it is") {
  const std::string tree = "\x80\x02}.\0"s;
  const std::string text = kept_tree_text("torch", tree);
  CHECK(text == "torch gAJ9LgA=");
  CHECK(kept_tree(text) == tree);
  Schema schema;
  schema.format = "hdf5";
  CHECK(tree_format(schema).empty());
  schema.kept_tree = text;
  CHECK(tree_format(schema) == "torch");
  schema.has_tree = true;
  CHECK(tree_format(schema) == "hdf5");
}

TEST_CASE("Another text is no kept tree") {
  for (const char* text : {"", "torch", " gAJ9LgA=", "gAJ9LgA=", "torch gAJ9LgA", "torch  gAJ9LgA=", "torch gAJ9LgA= "})
    CHECK_THAT(refused([&] { kept_tree(text); }), Contains("ckpt_tree"));
  CHECK(kept_tree("torch ").empty());
}
