#include "checkpoint/kept_replicas.hpp"

#include "catch.hpp"

using namespace ckpt;

namespace {

/// A file that says that it holds one replica only.
FileCatalog file_of_one_replica() {
  Attribute word;
  word.name = "remove_redundancy";
  word.value = text_value("True");
  Schema schema;
  schema.attributes.push_back(std::move(word));
  return {std::make_shared<const Schema>(std::move(schema)), 0, 0};
}

CardArrays card(const std::vector<std::string>& names) {
  std::vector<StoredArray> arrays;
  for (const std::string& name : names) arrays.push_back({name, *number_type("f32"), {1}, std::nullopt, false});
  return std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
}

}  // namespace

TEST_CASE("coordinates of the cards that kept a parameter follow the mesh where \"last\" gave them, and only there") {
  const Layout layout = parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["pp", "dp"], "shape": [2, 2]},
      "parameters": [{"name": "head", "at": {"pp": "last"}}, {"name": "moved", "at": {"pp": "last"}}]})",
                                     "a.json");
  std::vector<FileCatalog> files(4, file_of_one_replica());
  const Layout kept = with_kept_replicas(layout, files, {card({"moved"}), card({}), card({"head"}), card({})});
  const Layout expected = parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["pp", "dp"], "shape": [2, 2]},
      "parameters": [{"name": "head", "at": {"pp": "last", "dp": 0}}, {"name": "moved", "at": {"pp": 0, "dp": 0}}]})",
                                       "a.json");
  CHECK(to_json(kept) == to_json(expected));
}
