#include "layout/names/naming.hpp"

#include "catch.hpp"
#include "layout/language/rule_json.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using Catch::Matchers::Contains;
using fixture::layout;
using fixture::Words;

namespace {

Layout indexed(const std::string& keys, const std::string& stages = "2") {
  return layout(R"(["pp"])", "[" + stages + "]", R"("indices": [{"in": "layers.{i}.*", "axis": "pp", )" + keys + "}]");
}

/// The global numbers that a stage holds, by its local ones.
Words globals(const Layout& of, std::uint64_t stage, std::uint64_t count) {
  Words names;
  for (std::uint64_t i = 0; i < count; ++i)
    names.push_back(Naming(of).counted("layers." + std::to_string(i) + ".w", {stage}));
  return names;
}

}  // namespace

TEST_CASE("contiguous blocks") {
  const Layout of = indexed(R"("total": 8, "numbering": "local")");
  CHECK(globals(of, 1, 4) == Words{"layers.4.w", "layers.5.w", "layers.6.w", "layers.7.w"});
  const StoredName stored = Naming(of).uncounted("layers.6.w");
  CHECK(stored.name == "layers.2.w");
  CHECK(stored.at == At{{0, {1}}});
}

TEST_CASE("interleaved chunks: 8 layers, 2 stages, virtual 2") {
  const Layout of = indexed(R"("total": 8, "numbering": "local", "virtual": 2)");
  CHECK(globals(of, 0, 4) == Words{"layers.0.w", "layers.1.w", "layers.4.w", "layers.5.w"});
  CHECK(globals(of, 1, 4) == Words{"layers.2.w", "layers.3.w", "layers.6.w", "layers.7.w"});
  CHECK(Naming(of).uncounted("layers.5.w").name == "layers.3.w");
  CHECK(Naming(of).uncounted("layers.5.w").at == At{{0, {0}}});
}

TEST_CASE("uneven blocks, also empty ones") {
  const Layout of = indexed(R"("counts": [3, 0, 5], "numbering": "local")", "3");
  CHECK(globals(of, 2, 2) == Words{"layers.3.w", "layers.4.w"});
  CHECK(Naming(of).uncounted("layers.3.w").at == At{{0, {2}}});
  CHECK_THROWS_WITH(Naming(of).counted("layers.0.w", {1}), Contains("numbers below 0 (local) at pp=1"));
}

TEST_CASE("global numbers stay, and still tell the stage") {
  const Layout of = indexed(R"("total": 4, "numbering": "global")");
  CHECK(Naming(of).counted("layers.3.w", {1}) == "layers.3.w");
  CHECK(Naming(of).uncounted("layers.3.w").name == "layers.3.w");
  CHECK(Naming(of).uncounted("layers.3.w").at == At{{0, {1}}});
}

TEST_CASE("going there and back gives every name again") {
  for (const char* keys :
       {R"("total": 24, "numbering": "local")", R"("total": 24, "numbering": "local", "virtual": 3)",
        R"("counts": [7, 5, 0, 12], "numbering": "local")", R"("total": 24, "numbering": "global")"}) {
    const Layout of = indexed(keys, "4");
    const Naming naming(of);
    for (int i = 0; i < 24; ++i) {
      const std::string name = "layers." + std::to_string(i) + ".w";
      const StoredName stored = naming.uncounted(name);
      CAPTURE(keys, name);
      CHECK(naming.counted(stored.name, stored.at.at(0)) == name);
    }
  }
}

TEST_CASE("blocks without number cost nothing") {
  const Layout of = layout(R"(["pp"])", "[1048576]",
                           R"("indices": [{"in": "{i}.w", "axis": "pp", "total": 1152921504606846976,
                                           "numbering": "local", "virtual": 65536}])");
  const Naming naming(of);
  const StoredName last = naming.uncounted("1152921504606846975.w");
  CHECK(last.name == "1099511627775.w");
  CHECK(last.at == At{{0, {1048575}}});
  CHECK(naming.counted(last.name, {1048575}) == "1152921504606846975.w");
}

TEST_CASE("several counts in one name") {
  const Layout of = layout(R"(["pp", "ep"])", "[2, 4]",
                           R"("indices": [{"in": "layers.{i}.*", "axis": "pp", "total": 6, "numbering": "local"},
                                          {"in": "*.experts.{i}.*", "axis": "ep", "total": 16, "numbering": "local"}])");
  CHECK(Naming(of).counted("layers.2.experts.1.w", {1, 3}) == "layers.5.experts.13.w");
  const StoredName stored = Naming(of).uncounted("layers.5.experts.13.w");
  CHECK(stored.name == "layers.2.experts.1.w");
  CHECK(stored.at == At{{0, {1}}, {1, {3}}});
  CHECK(Naming(of).uncounted("layers.5.w").at == At{{0, {1}}});
  CHECK(Naming(of).uncounted("embedding").at.empty());
}

TEST_CASE("a number that two entries count is refused") {
  const Layout of = layout(
      R"(["pp", "ep"])", "[2, 2]",
      R"("indices": [{"in": "layers.{i}.*", "axis": "pp", "total": 4}, {"in": "*.{i}.w", "axis": "ep", "total": 4}])");
  CHECK_THROWS_WITH(Naming(of).uncounted("layers.1.w"), Contains("that an earlier entry counts"));
}

TEST_CASE("numbers beyond the block or the total are refused") {
  const Layout local = indexed(R"("total": 8, "numbering": "local")");
  CHECK_THROWS_WITH(Naming(local).counted("layers.4.w", {0}),
                    Contains("\"layers.4.w\" has the number 4") && Contains("numbers below 4 (local) at pp=0"));
  const Layout global = indexed(R"("total": 8, "numbering": "global")");
  CHECK_THROWS_WITH(Naming(global).counted("layers.8.w", {0}), Contains("numbers below 8 (global)"));
  CHECK_THROWS_WITH(Naming(global).uncounted("layers.8.w"), Contains("counts only 8"));
  CHECK_THROWS_AS(Naming(local).counted("layers.99999999999999999999999.w", {0}), Error);
}

TEST_CASE("zeros in front of a number are kept") {
  const Layout of = indexed(R"("total": 200, "numbering": "local")");
  CHECK(Naming(of).counted("layers.007.w", {1}) == "layers.107.w");
  CHECK(Naming(of).uncounted("layers.107.w").name == "layers.7.w");
  CHECK(Naming(of).counted("layers.00.w", {0}) == "layers.00.w");
}

TEST_CASE("rename goes both ways") {
  const Layout of =
      layout(R"(["x"])", "[1]",
             R"("rename": [{"stored": "opt/{x}/exp_avg", "name": "m.{x}"}, {"stored": "module.{x}", "name": "{x}"}])");
  CHECK(Naming(of).renamed("module.layers.0.w") == "layers.0.w");
  CHECK(Naming(of).renamed("opt/layers.0.w/exp_avg") == "m.layers.0.w");
  CHECK(Naming(of).renamed("epoch") == "epoch");
  CHECK(Naming(of).unrenamed("m.layers.0.w") == "opt/layers.0.w/exp_avg");
  CHECK(Naming(of).unrenamed("layers.0.w") == "module.layers.0.w");
}

TEST_CASE("a name that would be read back as another is refused") {
  const Layout of = layout(R"(["x"])", "[1]", R"("rename": [{"stored": "a.{x}", "name": "b.{x}"}])");
  CHECK(Naming(of).unrenamed("b.w") == "a.w");
  CHECK_THROWS_WITH(Naming(of).unrenamed("a.w"),
                    Contains("\"a.w\" would be stored as \"a.w\", which is read as \"b.w\""));
}

TEST_CASE("the first rule that matches decides") {
  const Layout of =
      layout(R"(["tp"])", "[2]",
             R"("parameters": [{"name": "*.norm", "split": []}, {"name": ["a.*", "b.*"], "split": ["tp"]}])");
  CHECK(Naming(of).decide("a.norm")->rule == 0);
  CHECK(Naming(of).decide("b.w")->rule == 1);
  CHECK(Naming(of).decide("b.w")->keys.split->at(0) == std::vector<Axis>{0});
  CHECK_FALSE(Naming(of).decide("c.w").has_value());
}

TEST_CASE("without a rule, the default may replicate") {
  const Layout of = layout(R"(["tp"])", "[2]", R"("default": "replicate")");
  const auto decision = Naming(of).decide("anything");
  REQUIRE(decision.has_value());
  CHECK_FALSE(decision->rule.has_value());
  CHECK_FALSE(decision->keys.split.has_value());
}

TEST_CASE("like borrows a rule, keys beside it override") {
  const Layout of = layout(R"(["tp"])", "[2]",
                           R"("parameters": [{"name": "m.{p}", "like": "{p}", "uneven": "balanced"},
                                             {"name": "half.{p}", "like": "m.{p}", "permute": [1, 0]},
                                             {"name": "w", "split": ["tp"], "uneven": "ceil"}])");
  const auto decision = Naming(of).decide("half.w");
  REQUIRE(decision.has_value());
  CHECK(decision->rule == 1);  // the rule by which it is found, not the one that it borrows
  CHECK(decision->keys.split->size() == 1);
  CHECK(*decision->keys.uneven == Uneven::balanced);
  CHECK(decision->keys.permute.has_value());
  CHECK_FALSE(Naming(of).decide("w")->keys.permute.has_value());
}

TEST_CASE("a rule's own `at` replaces the borrowed one with its \"last\", and leaves it where it has none") {
  const Layout of = layout(R"(["pp"])", "[3]",
                           R"("parameters": [{"name": "first.{p}", "like": "{p}", "at": {"pp": 0}},
                                             {"name": "ends.{p}", "like": "first.{p}", "at": {"pp": [0, "last"]}},
                                             {"name": "same.{p}", "like": "{p}", "split": []},
                                             {"name": "w", "at": {"pp": "last"}}])");
  const auto written = [&](const std::string& name) { return to_json(Naming(of).decide(name)->keys, of.mesh); };
  CHECK(written("first.w") == R"({"at": {"pp": 0}})");
  CHECK(written("ends.w") == R"({"at": {"pp": [0, "last"]}})");
  CHECK(written("same.w") == R"({"at": {"pp": "last"}})");
}

TEST_CASE("like that leads nowhere or in a circle is refused") {
  const Layout nowhere = layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "m.{p}", "like": "{p}"}])");
  CHECK_THROWS_WITH(Naming(nowhere).decide("m.w"), Contains("\"m.w\" is to be like \"w\", which no rule matches"));
  const Layout circle = layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "{a}.{b}", "like": "{b}.{a}"}])");
  CHECK_THROWS_WITH(Naming(circle).decide("x.y"), Contains("leads back to"));
  const Layout growing = layout(R"(["tp"])", "[2]", R"("parameters": [{"name": "{a}x", "like": "{a}xx"}])");
  CHECK_THROWS_AS(Naming(growing).decide("x"), Error);
}

TEST_CASE("local numbers that begin above 0") {
  const Layout of = indexed(R"("total": 4, "numbering": "local", "first": 1)");
  CHECK(Naming(of).counted("layers.1.w", {0}) == "layers.0.w");
  CHECK(Naming(of).counted("layers.2.w", {1}) == "layers.3.w");
  CHECK(Naming(of).uncounted("layers.3.w").name == "layers.2.w");
  CHECK_THROWS_WITH(Naming(of).counted("layers.0.w", {1}), Contains("expected numbers from 1 and below 3 (local)"));
}

TEST_CASE("numbers that restart in each virtual chunk, which the name tells") {
  const Layout of = layout(R"(["pp"])", "[2]", R"("indices": [{"in": "model{chunk}.layers.{i}.*", "axis": "pp",
                           "total": 8, "numbering": "local", "virtual": 2, "restart": true, "first": 1}])");
  const Naming naming(of);
  CHECK(naming.counted("model0.layers.1.w", {0}) == "model0.layers.0.w");
  CHECK(naming.counted("model1.layers.2.w", {0}) == "model0.layers.5.w");
  CHECK(naming.counted("model1.layers.1.w", {1}) == "model0.layers.6.w");
  for (int i = 0; i < 8; ++i) {
    const std::string name = "model0.layers." + std::to_string(i) + ".w";
    const StoredName stored = naming.uncounted(name);
    CHECK(naming.counted(stored.name, stored.at.at(0)) == name);
  }
  CHECK(naming.uncounted("model0.layers.6.w").name == "model1.layers.1.w");
  CHECK_THROWS_WITH(naming.counted("model2.layers.1.w", {0}), Contains("has the chunk 2") && Contains("below 2"));
  CHECK_THROWS_WITH(naming.counted("model1.layers.3.w", {0}), Contains("has the number 3"));
  CHECK_THROWS_WITH(naming.uncounted("model1.layers.0.w"),
                    Contains("has the chunk 1") && Contains("expected 0, for {i}"));
}

TEST_CASE("indices spread over two axes, major first") {
  const Layout of =
      layout(R"(["etp", "dp", "ep"])", "[2, 3, 2]",
             R"("indices": [{"in": "experts.{i}.*", "axis": ["ep", "etp"], "total": 8, "numbering": "local"}])");
  const Naming naming(of);
  CHECK(naming.counted("experts.1.w", {1, 0, 0}) == "experts.3.w");
  CHECK(naming.counted("experts.1.w", {0, 2, 1}) == "experts.5.w");
  CHECK(naming.uncounted("experts.5.w").name == "experts.1.w");
  CHECK(naming.uncounted("experts.5.w").at == At{{0, {0}}, {2, {1}}});
  CHECK_THROWS_WITH(naming.counted("experts.2.w", {1, 0, 0}), Contains("below 2 (local) at ep=0, etp=1"));
}
