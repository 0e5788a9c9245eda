#include "checkpoint/read_manifest.hpp"

#include <sys/stat.h>

#include "catch.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "temporary_directory.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;
using Catch::Matchers::Contains;

namespace {

ManifestText found(std::string text, bool is_directory = true) {
  return {std::move(text), "here", is_directory ? manifest_name : "merged.h5", is_directory};
}

const std::string one_card = R"({"ckpt_layout": 1, "mesh": {"axes": ["card"], "shape": [1]}, "default": "replicate"})";

}  // namespace

TEST_CASE("what was written is read again") {
  const Placement placement = target(single_card(), {tensor("a", {3}), tensor("b \"quoted\"", {2, 2})});
  const std::string text = manifest(placement, {{"", 0, 12345, std::string(32, 'c')}}, {{1, 2}, {3, 4}},
                                    ManifestRoom{2048, least_manifest_bytes});
  const Manifest merged = parse_manifest(found(text, false));
  CHECK(merged.files.at("merged.h5").bytes == 12345);
  CHECK(merged.files.at("merged.h5").fingerprint == std::string(32, 'c'));
  CHECK(merged.place == std::uint64_t{2048});
  CHECK(merged.parameters == std::map<std::string, std::string>{{"a", to_string(Fingerprint{1, 2})},
                                                                {"b \"quoted\"", to_string(Fingerprint{3, 4})}});
  const Manifest directory =
      parse_manifest(found(manifest(placement, {{"rank_0.h5", 0, 7, "d"}}, std::vector<Fingerprint>(2))));
  CHECK(directory.files.at("rank_0.h5").bytes == 7);
  CHECK_FALSE(directory.place);
  CHECK(to_json(directory.layout) == to_json(placement.layout()));
}

TEST_CASE("what a manifest tells of files beside those with data is read again") {
  const Placement placement = target(single_card(), {tensor("a", {3})});
  const auto text = [&](const std::vector<ManifestFile>& sidecars) {
    return manifest(placement, {{"rank_0.h5", 0, 7, "d"}}, {{1, 2}}, {}, FingerprintPlace::manifest, {}, sidecars);
  };
  const Manifest told = parse_manifest(found(text({{".metadata", 0, 12, "e"}, {"common \"1\".pt", 0, 0, "f"}})));
  REQUIRE(told.sidecars.size() == 2);
  CHECK(told.sidecars.at(".metadata").bytes == 12);
  CHECK(told.sidecars.at(".metadata").fingerprint == "e");
  CHECK(told.sidecars.at("common \"1\".pt").fingerprint == "f");
  CHECK(told.files.size() == 1);

  CHECK(text({}).find("beside") == std::string::npos);  // as in older manifests
  CHECK(parse_manifest(found(text({}))).sidecars.empty());
  CHECK_THROWS_WITH(parse_manifest(found(text({{".metadata", 0, 12, ""}}))), Contains("no fingerprints"));
  for (const char* name : {"", ".", "..", "../a", "/a", "a/b", "a/", "checkpoint.json", "rank_0.h5"})
    CHECK_THROWS_WITH(parse_manifest(found(text({{name, 0, 12, "e"}}))),
                      Contains("it names \"" + std::string(name) + "\" beside its files"));
}

TEST_CASE("a manifest above 64 MiB is read again") {
  constexpr std::size_t count = 35'000;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i)
    tensors.push_back(tensor(std::to_string(count + i) + std::string(2000, 'n'), {i, 4096}));
  const Placement placement = target(single_card(), tensors);
  const std::string text = manifest(placement, {{"rank_0.h5", 0, 7, "d"}}, std::vector<Fingerprint>(count));
  CHECK(text.size() > 64 << 20);
  const TemporaryDirectory directory;
  write_text(directory / manifest_name, text);
  const std::string again = directory_manifest(directory / ".").value();
  CHECK((again == text));
  CHECK(is_sealed(again));
  const Manifest manifest = parse_manifest(found(again));
  CHECK(manifest.parameters.size() == count);
  CHECK(manifest.parameters.begin()->first == tensors.front().name);
}

TEST_CASE("of files that only show others there are no fingerprints, and the manifest says so") {
  const Placement placement = target(single_card(), {tensor("a", {3})});
  const std::string room = provisional_manifest(placement, FingerprintPlace::views);
  const std::string merged =
      manifest(placement, {{"", 0, 5, ""}}, {}, ManifestRoom{7, room.size()}, FingerprintPlace::views);
  CHECK(merged.size() == room.size());
  CHECK_THROWS_WITH(parse_manifest(found(merged, false)), Contains("show data of others"));
  const std::string many = manifest(placement, {{"rank_0.h5", 0, 7, ""}}, {}, {}, FingerprintPlace::views);
  CHECK(is_sealed(many));
  CHECK_THROWS_WITH(parse_manifest(found(many)), Contains("show data of others"));
}

TEST_CASE("what is no manifest, or holds no fingerprints, is refused") {
  const std::string start = R"({"layout": )" + one_card;
  const std::string files = R"(, "files": [{"name": "rank_0.h5", "card": 0, "bytes": 1, "fingerprint": "f"}])";
  CHECK_NOTHROW(parse_manifest(found(start + files + R"(, "parameters": {"a": {"fingerprint": "f"}}})")));
  const Words rests{files + "}", R"(, "parameters": {}})", files + R"(, "parameters": []})",
                    files + R"(, "parameters": 3})", files + R"(, "parameters": {"a": 3}})"};
  for (const std::string& rest : rests)
    CHECK_THROWS_WITH(parse_manifest(found(start + rest)), Contains("no manifest of these programs"));
  CHECK_THROWS_WITH(parse_manifest(found(start + files + R"(, "parameters": {"a": {"dtype": "f32"}}})")),
                    Contains("no fingerprints"));
  CHECK_THROWS_WITH(parse_manifest(found(start + files +
                                         R"(, "parameters": {"a": {"fingerprint": "f"}, "a": {"fingerprint": "f"}}})")),
                    Contains("'a' twice"));
  CHECK_THROWS_WITH(parse_manifest(found(start + R"(, "files": [], "parameters": {}})")),
                    Contains("not those that its layout names"));
  CHECK_THROWS_WITH(parse_manifest(found(start + files + R"(, "parameters": {}})", false)),
                    Contains("no manifest of these programs"));
  const Placement placement = target(single_card(), {tensor("a", {3})});
  CHECK_THROWS_WITH(parse_manifest(found(manifest(placement, {{"", 0, 1, ""}}, {},
                                                  ManifestRoom{2, least_manifest_bytes}, FingerprintPlace::report),
                                         false)),
                    Contains("not known yet when it went into a pipe"));
}

TEST_CASE("a report has the manifest of what went into a pipe") {
  const Placement placement = target(single_card(), {tensor("a", {3})});
  const std::string whole = manifest(placement, {{"", 0, 9, std::string(32, 'f')}}, {{1, 2}}, ManifestRoom{2, 5});
  const auto carried =
      found(manifest(placement, {{"", 0, 9, ""}}, {}, ManifestRoom{2, 5}, FingerprintPlace::report), false);
  const TemporaryDirectory directory;
  const auto alone = single_process();
  const auto reported = [&](const std::string& report) {
    write_text(directory / "report", report);
    return reported_manifest(directory / "report", carried, *alone);
  };
  const Manifest manifest = parse_manifest(reported(R"({"program": "ckpt-merge", "manifest": )" + whole + "}"));
  CHECK(manifest.files.at("merged.h5").fingerprint == std::string(32, 'f'));
  CHECK(manifest.parameters.at("a") == to_string(Fingerprint{1, 2}));
  CHECK(manifest.place == std::uint64_t{2});
  for (const char* other : {"", "{", "[]", R"({"program": "ckpt-merge"})"})
    CHECK_THROWS_WITH(reported(other), Contains("report: it tells of no file that went into a pipe"));
  CHECK_THROWS_WITH(parse_manifest(reported(R"({"manifest": {"layout": 3}})")), Contains("report: manifest"));
}

TEST_CASE("what stands in a manifest's place is read within bounds, and believed only as it was written") {
  const TemporaryDirectory directory;
  const auto path = directory / manifest_name;
  CHECK_FALSE(directory_manifest(directory / "."));
  const auto alone = single_process();
  CHECK_FALSE(read_carried(directory / "nowhere", *alone)->is_there);
  const auto damage = [&] {
    const SharedManifest said = read_carried(directory / ".", *alone);
    CHECK_FALSE(carried_layout(said, *alone));
    CHECK(said->fingerprints.empty());
    return said->damage ? std::string(said->damage->what()) : "";
  };

  const auto refused = [&](const std::string& text) {
    CHECK_THROWS_WITH(directory_manifest(directory / "."), Contains(text));
    CHECK_THAT(damage(), Contains(text));
    CHECK(read_carried(directory / ".", *alone)->unread);
    std::filesystem::remove(path);
  };
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  refused("is no regular file");
  std::filesystem::create_symlink("/dev/zero", path);
  refused("is no regular file");
  std::filesystem::create_symlink(manifest_name, path);
  refused("Too many levels");
  std::filesystem::create_directory(path);
  refused("is a directory");
  write_text(path, "");
  std::filesystem::resize_file(path, most_manifest_bytes + 1);
  refused("larger than 2.0 GiB");

  const std::string text = "{\n \"layout\": " + one_card + ",\n";
  write_text(path, sealed(text));
  CHECK(carried_layout(read_carried(directory / ".", *alone), *alone).value().mesh.size() == 1);
  for (const std::string& changed : {std::string(), text + "}", sealed(text) + "\n", "[" + sealed(text).substr(1)}) {
    write_text(path, changed);
    CHECK_THAT(damage(), Contains("not as it was written"));
  }
  write_text(path, sealed("{\n"));
  CHECK_THAT(damage(), Contains("holds no layout"));
}

TEST_CASE("one pass over a manifest finds all that jobs use of it") {
  const std::string tables = R"( "tables": {"t": {"kept": {"where": "x > 0", "of": 9}, "layers": []}, "u": {}},)";
  const std::string parameters =
      R"( "parameters": {"a": {"fingerprint": "f"}, "b": {}, "c": {"fingerprint": 1}, "d": 2},)";
  const std::string start = "{ \"layout\": " + one_card + ", \"merged_by\": {\"x\": 1},";
  const CarriedManifest said = said_in(sealed(start + tables + parameters + "\n"), "m");
  CHECK(said.is_sealed);
  CHECK_FALSE(said.damage);
  CHECK(said.merged_by == R"({"x":1})");
  CHECK(said.fingerprints == std::map<std::string, std::string>{{"a", "f"}});
  REQUIRE(said.tables.size() == 2);
  CHECK(said.tables.at("t").kept.value().where == "x > 0");
  CHECK(said.tables.at("t").kept.value().of == 9);

  const std::string open = start + tables + parameters;
  const CarriedManifest edited = said_in(open.substr(0, open.size() - 1) + "}", "m");  // its conditions are believed
  CHECK(edited.tables.size() == 2);
  CHECK(edited.fingerprints.empty());
  CHECK(edited.layout.empty());
  CHECK(edited.merged_by.empty());
  CHECK(said_in(sealed(start + R"( "tables": {"t": {"layers": [3]}},)" + "\n"), "m").tables.empty());
}
