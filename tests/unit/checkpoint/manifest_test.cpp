#include "checkpoint/manifest.hpp"

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "store/store.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

Layout two_cards() {
  return parse_layout(
      R"({"ckpt_layout": 1, "mesh": {"axes": ["x"], "shape": [2], "cards": [5, 3]}, "default": "replicate"})",
      "a.json");
}

std::string of_directory() {
  const Placement placement =
      target(two_cards(), {tensor("b.w", {4, 2}),
                           tensor("a\"", {}, {ElementKind::other, ByteOrder::little, 8, "{r:f32@0,i:f32@4}/8", ""})});
  return manifest(placement, {{"rank_5.h5", 5, 4096, "00ff"}, {"rank_3.h5", 3, 1ULL << 40, ""}},
                  {{1, 2}, {3, 0xabcdef0123456789}});
}

}  // namespace

TEST_CASE("a manifest says what the checkpoint is") {
  const auto json = nlohmann::json::parse(of_directory());
  CHECK(json["ckpt_manifest"] == 1);
  CHECK(json["version"] == CKPT_VERSION);
  CHECK(json["files"].size() == 2);
  CHECK(json["files"][1]["name"] == "rank_3.h5");
  CHECK(json["files"][1]["card"] == 3);
  CHECK(json["files"][1]["bytes"] == 1ULL << 40);
  CHECK(json["files"][0]["fingerprint"] == "00ff");
  CHECK_FALSE(json["files"][1].contains("fingerprint"));
  CHECK(json["parameters"]["a\""]["fingerprint"] == "00000000000000020000000000000001");
  CHECK(json["parameters"]["b.w"]["shape"] == std::vector<int>{4, 2});
  CHECK(json["parameters"]["a\""]["dtype"] == "{r:f32@0,i:f32@4}/8");
  CHECK(json["parameters"]["a\""]["shape"].empty());
  CHECK(to_json(parse_layout(json["layout"].dump(), "the manifest")) == to_json(two_cards()));
}

TEST_CASE("a manifest tells of the files beside those with data, where there are any") {
  const Placement placement = target(two_cards(), {tensor("a", {2})});
  const auto of = [&](const std::vector<ManifestFile>& sidecars) {
    return manifest(placement, {{"rank_5.h5", 5, 1, "a"}, {"rank_3.h5", 3, 1, "b"}}, {{1, 2}}, {},
                    FingerprintPlace::manifest, {}, sidecars);
  };
  const auto json = nlohmann::json::parse(of({{"latest", 0, 6, "00ff"}, {".metadata", 0, 1ULL << 32, ""}}));
  REQUIRE(json["beside"].size() == 2);
  CHECK(json["beside"][0] == nlohmann::json{{"name", "latest"}, {"bytes", 6}, {"fingerprint", "00ff"}});
  CHECK(json["beside"][1] == nlohmann::json{{"name", ".metadata"}, {"bytes", 1ULL << 32}});
  CHECK_FALSE(nlohmann::json::parse(of({})).contains("beside"));
}

TEST_CASE("a manifest tells any change of itself") {
  const std::string text = of_directory();
  REQUIRE(is_sealed(text));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    CHECK_FALSE(is_sealed(changed));
    CHECK_FALSE(is_sealed(std::string(text).insert(at, " ")));
    CHECK_FALSE(is_sealed(std::string(text).erase(at, 1)));
    CHECK_FALSE(is_sealed(text.substr(0, at)));
    CHECK_FALSE(is_sealed(text.substr(0, at) + std::string(text.size() - at, '\0')));
  }
  CHECK_FALSE(is_sealed(text + "\n"));
  CHECK_FALSE(is_sealed(std::string(1, '\0') + text));
}

TEST_CASE("a merged file's manifest is as long as its room, whatever it says") {
  const Placement placement = target(single_card(), {tensor("w", {1})});
  for (const bool is_verified : {false, true}) {
    const std::string room =
        provisional_manifest(placement, is_verified ? FingerprintPlace::manifest : FingerprintPlace::nowhere);
    CHECK(room.size() == least_manifest_bytes);
    for (const std::uint64_t number : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      const std::string text =
          manifest(placement, {{"", 0, number, is_verified ? std::string(32, 'a') : ""}},
                   std::vector<Fingerprint>(is_verified ? 1 : 0), ManifestRoom{number, room.size()});
      CHECK(text.size() == room.size());
      CHECK(is_sealed(text));
      const auto json = nlohmann::json::parse(text);
      CHECK_FALSE(json.contains("files"));
      CHECK(json["file"]["bytes"] == number);
      CHECK(json["file"]["manifest_at"] == number);
      CHECK(json["file"].contains("fingerprint") == is_verified);
    }
  }
  std::vector<Tensor> many;
  for (int i = 0; i < 100; ++i) many.push_back(tensor("w" + std::to_string(i), {1}));
  const Placement large = target(single_card(), many);
  const std::string room = provisional_manifest(large, FingerprintPlace::manifest);
  CHECK(room.size() > least_manifest_bytes);
  CHECK(manifest(large, {{"", 0, 1, std::string(32, 'a')}}, std::vector<Fingerprint>(100), ManifestRoom{2, room.size()})
            .size() == room.size());
}

TEST_CASE("a manifest that came too early for its fingerprints says where they are") {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 100; ++i) tensors.push_back(tensor("w" + std::to_string(i), {1}));
  const Placement placement = target(single_card(), tensors);
  const std::string room = provisional_manifest(placement, FingerprintPlace::report);
  CHECK(room.size() < provisional_manifest(placement, FingerprintPlace::manifest).size());
  const std::string text =
      manifest(placement, {{"", 0, 5, ""}}, {}, ManifestRoom{7, room.size()}, FingerprintPlace::report);
  CHECK(text.size() == room.size());
  CHECK(is_sealed(text));
  const auto json = nlohmann::json::parse(text);
  CHECK_THAT(json["fingerprints"].get<std::string>(), Catch::Matchers::Contains("in the report of the job"));
  CHECK_FALSE(json["parameters"]["w0"].contains("fingerprint"));
}

TEST_CASE("a job whose manifest could not be read is refused") {
  const Placement directory =
      target(two_cards(), {tensor("b.w", {4, 2}),
                           tensor("a\"", {}, {ElementKind::other, ByteOrder::little, 8, "{r:f32@0,i:f32@4}/8", ""})});
  const auto whole = of_directory().size();
  CHECK_NOTHROW(check_manifest_size(directory, false, true));
  CHECK_NOTHROW(check_manifest_size(directory, false, true, whole + 200));
  CHECK_THROWS_WITH(check_manifest_size(directory, false, true, whole - 1), Catch::Matchers::Contains("2 parameters"));
  const Placement single = target(single_card(), {tensor("w", {1})});
  CHECK_NOTHROW(check_manifest_size(single, true, true, least_manifest_bytes));
  CHECK_THROWS_WITH(check_manifest_size(single, true, true, least_manifest_bytes - 1),
                    Catch::Matchers::Contains("the output's manifest"));
}
