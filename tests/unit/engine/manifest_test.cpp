#include "engine/manifest.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

TEST_CASE("a manifest says what the checkpoint is") {
  const Layout of = parse_layout(
      R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2], "cards": [5, 3]}, "default": "replicate"})",
      "a.json");
  const Placement placement = target(of, {tensor("b.w", {4, 2}), tensor("a", {}, {ElementKind::other, ByteOrder::little, 8, "{r:f32@0,i:f32@4}/8", ""})});
  const std::string text = manifest(placement, {{"rank_5.h5", 5, 4096, "00ff"}, {"rank_3.h5", 3, 1ULL << 40, ""}},
                                    {{1, 2}, {3, 0xabcdef0123456789}});
  const auto json = nlohmann::json::parse(text);
  CHECK(json["ckpt_manifest"] == 1);
  CHECK(json["version"] == CKPT_VERSION);
  CHECK(json["files"].size() == 2);
  CHECK(json["files"][1]["name"] == "rank_3.h5");
  CHECK(json["files"][1]["card"] == 3);
  CHECK(json["files"][1]["bytes"] == 1ULL << 40);
  CHECK(json["files"][0]["fingerprint"] == "00ff");
  CHECK_FALSE(json["files"][1].contains("fingerprint"));
  CHECK(json["parameters"]["a"]["fingerprint"] == "00000000000000020000000000000001");
  CHECK(json["parameters"]["b.w"]["shape"] == std::vector<int>{4, 2});
  CHECK(json["parameters"]["a"]["dtype"] == "{r:f32@0,i:f32@4}/8");
  CHECK(json["parameters"]["a"]["shape"].empty());
  CHECK(to_json(parse_layout(json["layout"].dump(), "the manifest")) == to_json(of));
  CHECK(text.back() == '\n');
}

TEST_CASE("a merged file's manifest names no files") {
  const Placement placement = target(single_card(), {tensor("w", {1})});
  CHECK_FALSE(nlohmann::json::parse(manifest(placement, {}, {})).contains("files"));
}
