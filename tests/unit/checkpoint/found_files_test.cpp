#include "checkpoint/found_files.hpp"

#include "catch.hpp"
#include "checkpoint/manifest.hpp"
#include "refused.hpp"
#include "unit/memory_checkpoint.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

const std::string two_cards =
    R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2]}, "files": "rank_{card}.mem", "default": "replicate"})";

/// A directory whose files are listed on disk, and read from memory.
struct Tree : Memory {
  void add(const std::string& name, const std::string& layout = "") {
    add_other(name);
    FileSpec spec;
    spec.arrays.push_back({"w", *number_type("f32"), {2}, {}, std::nullopt, std::nullopt});
    spec.layout = layout;
    stores.named("memory").create(path(name), spec);
  }
  void add_other(const std::string& name, const std::string& text = "") {
    fs::create_directories(path(name).parent_path());
    write_text(path(name), text);
  }
  fs::path path(const std::string& name) const { return name.empty() ? directory / "src" : directory / "src" / name; }
  FoundCheckpoint find(const std::string& name, const std::optional<Layout>& given = std::nullopt) {
    return find_checkpoint({path(name), given}, stores.reading(), *alone);
  }

  TemporaryDirectory directory;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the files of tensors below a directory are found, in natural order") {
  Tree tree;
  for (const char* name : {"rank_10.mem", "rank_9.mem", "deep/er/optim.mem"}) tree.add(name);
  tree.add_other("notes.txt", "not a tensor");
  const FoundFiles found = find_files(tree.path(""), tree.stores.reading(), *tree.alone);
  CHECK(found.names == Names{"deep/er/optim.mem", "rank_9.mem", "rank_10.mem"});
  CHECK_FALSE(found.is_single_file);
  REQUIRE(found.catalogs.size() == 3);
  CHECK(found.catalogs[0].schema->arrays->at(0).name == "w");

  const FoundFiles one = find_files(tree.path("rank_9.mem"), tree.stores.reading(), *tree.alone);
  CHECK(one.names == Names{"rank_9.mem"});
  CHECK(one.is_single_file);
}

TEST_CASE("a path without a file of tensors is refused") {
  Tree tree;
  tree.add_other("empty/notes.txt");
  Stores real;  // in memory, a directory without files is none
  const auto find = [&](const char* name, Kind kind = Kind::input) {
    return refused([&] { find_files(tree.path(name), real.reading(), *tree.alone); }, kind);
  };
  CHECK_THAT(find("empty"), Contains("no file of tensors (hdf5, safetensors") && Contains("expected a checkpoint"));
  CHECK_THAT(find("nowhere", Kind::usage), Contains("nowhere: no such file or directory"));
}

TEST_CASE("files are a checkpoint by the layout that all of them carry") {
  Tree tree;
  for (const char* name : {"rank_0.mem", "rank_1.mem"}) tree.add(name, two_cards);
  REQUIRE(tree.find("").checkpoint);
  CHECK(tree.find("").checkpoint->layout().mesh.size() == 2);
  CHECK(tree.find("").files.names == Names{"rank_0.mem", "rank_1.mem"});
  CHECK_FALSE(tree.find("rank_1.mem").checkpoint);  // a part of it

  tree.add("rank_2.mem");  // carries none
  CHECK_FALSE(tree.find("").checkpoint);
  CHECK(tree.find("").files.names.size() == 3);
}

TEST_CASE("a file that the carried layout names must be there") {
  Tree tree;
  tree.add("rank_0.mem", two_cards);
  CHECK_THAT(refused([&] { tree.find(""); }), Contains("rank_1.mem: missing"));
}

TEST_CASE("the layout that is given comes before the manifest's, and that before what the files carry") {
  Tree tree;
  for (const char* name : {"rank_0.mem", "rank_1.mem", "other.mem"}) tree.add(name, two_cards);
  const std::string others =
      R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [1]}, "files": "other.mem", "default": "replicate"})";
  const std::string manifest = sealed("{\n \"layout\": " + others + ",\n");
  tree.add_other(manifest_name, manifest);
  CHECK(tree.find("").files.names == Names{"other.mem"});
  CHECK(tree.find("", parse_layout(two_cards, "mine")).files.names == Names{"rank_0.mem", "rank_1.mem"});

  tree.add_other(manifest_name, manifest.substr(1));
  const FoundCheckpoint found = tree.find("");
  REQUIRE(found.damaged_manifest);
  CHECK_THAT(found.damaged_manifest->what(), Contains("it is not as it was written"));
  CHECK(found.files.names == Names{"rank_0.mem", "rank_1.mem"});
}
