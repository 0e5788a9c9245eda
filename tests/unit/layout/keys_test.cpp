#include <map>
#include <set>
#include <string>

#include "catch.hpp"
#include "layout/language/parse_keys.hpp"

using namespace ckpt;

namespace {

Layout with_rule(const std::string& keys) {
  return parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["pp", "tp"], "shape": [2, 2]}, "files": "{card}.h5",
                          "parameters": [{"name": "w", )" +
                          keys + "}]}",
                      "a.json");
}

TEST_CASE("no key gets lost where a rule overrides another, is written, or is left without cuts") {
  // Each key with a value that is not its default, and what it needs beside it.
  const std::map<std::string, std::string> examples{{"split", R"("split": ["tp"])"},
                                                    {"uneven", R"("uneven": "ceil")"},
                                                    {"sizes", R"("split": ["tp"], "sizes": {"0": [3, 1]})"},
                                                    {"parts", R"("parts": {"dim": 0, "count": 2})"},
                                                    {"pad", R"("pad": {"0": {"size": 5}})"},
                                                    {"flat", R"("flat": {"axis": "tp"})"},
                                                    {"shape", R"("shape": [4])"},
                                                    {"permute", R"("permute": [1, 0])"},
                                                    {"at", R"("at": {"pp": 1})"},
                                                    {"boxes", R"("boxes": {"0": [[0, 4]], "1": [[4, 8]]})"},
                                                    {"grid", R"("boxes": {"0": [[0, 1]], "1": [[1, 2]]}, "grid": [2])"},
                                                    {"replicas", R"("replicas": "first")"}};
  const std::set<std::string> without_cuts{"shape", "at", "replicas"};
  for (const auto& key : parsing::keys_form().keys()) {
    INFO("\"" << key.name << "\": has it an example here, and a place in each function of Keys?");
    REQUIRE(examples.contains(key.name));
    const Layout layout = with_rule(examples.at(key.name));
    const Keys& keys = layout.parameters.front().keys;
    const auto has = [&](const Keys& found) { return !key.write(found, layout.mesh).empty(); };
    REQUIRE(has(keys));
    Keys taken;
    taken.override_with(keys);
    CHECK(taken == keys);
    CHECK(has(keys.plain()));
    CHECK(has(keys.without_cuts()) == without_cuts.contains(key.name));
  }
}

TEST_CASE("a tensor without cuts lives where the layout says, on every mesh") {
  const Keys keys = with_rule(R"("at": {"pp": "last"}, "split": ["tp"])").parameters.front().keys;
  CHECK(keys.without_cuts() == with_rule(R"("at": {"pp": "last"})").parameters.front().keys);
}

}  // namespace
