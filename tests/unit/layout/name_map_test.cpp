#include "layout/maps/name_map.hpp"

#include <cmath>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "catch.hpp"
#include "layout/maps/map_sizes.hpp"
#include "layout/maps/mapped_tensors.hpp"
#include "unit/layout/resolve_fixture.hpp"

using namespace ckpt;
using namespace ckpt::fixture;

namespace {

const std::string head = R"({"ckpt_names": 1, "sides": ["a", "b"], )";
const std::string sizes = R"("sizes": {"g": 2, "q": 3, "d": 4, "h": 5, "l": 2, "v": 7}, )";

NameMap parse(const std::string& rest) {
  return parse_name_map(head + rest + "}", "map.json", [](const std::string& name) {
    return std::pair(head + R"("base": ")" + name + R"(", "tensors": []})", name);
  });
}

NameMap with_rule(const std::string& a, const std::string& b, const std::string& more = "") {
  return parse(sizes + R"("tensors": [{"a": ")" + a + R"(", "b": )" + (b.front() == '[' ? b : "\"" + b + "\"") + more +
               "}]");
}

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

MapSource source_of(const std::vector<Tensor>& tensors) {
  MapSource source;
  for (const Tensor& each : tensors) source.tensors.emplace_back(each, source.tensors.size());
  return source;
}

std::vector<std::string> names_of(const MappedTensors& mapped) {
  std::vector<std::string> names;
  for (const Tensor& tensor : mapped.tensors) names.push_back(tensor.name.str() + " " + to_string(Shape(tensor.shape)));
  return names;
}

MappedTensors convert(const NameMap& map, MapSide from, const std::vector<Tensor>& tensors, MapWish wish = {},
                      const std::string& config = "{}") {
  const MapSizes of(map, ModelConfig(config, "config.json"), {});
  return map_tensors(map, of, from, source_of(tensors), wish);
}

}  // namespace

TEST_CASE("rules that are no bijection are refused") {
  std::ifstream file(CKPT_SOURCE_DIR "/tests/golden/names/bad-rules.json");
  const auto all = nlohmann::json::parse(file);
  REQUIRE(all.size() >= 11);
  for (const auto& each : all) {
    nlohmann::json map{{"ckpt_names", 1}, {"sides", {"a", "b"}}, {"sizes", each["sizes"]}, {"tensors", {each["rule"]}}};
    const std::string told = refusal([&] { parse_name_map(map.dump(), "map.json", {}); });
    CAPTURE(each["why"], told);
    CHECK(told.find("map.json: /tensors/0") != std::string::npos);
  }
}

TEST_CASE("an error of a rule names the rule, both tensors and the axis") {
  CHECK(refusal([] { with_rule("x [g q d, h]", "y [g d, h]"); }) ==
        "map.json: /tensors/0 (x [g q d, h] and y [g d, h]): axis q of x [g q d, h] is not in y [g d, h], expected the "
        "same axes in both, in any order");
}

TEST_CASE("a tensor stands once on a side of a rule") {
  CHECK(refusal([] {
          parse(sizes + R"("tensors": [{"a": ["x.{l} [h]", "x.{l} [h]"], "b": ["y.{l} [h]", "z.{l} [h]"]}])");
        }).find("x.{l} twice in \"a\"") != std::string::npos);
}

TEST_CASE("the names of the output's layout choose each tensor's spelling") {
  const NameMap map =
      parse(sizes + R"("tensors": [{"a": "x.{l} [h]", "b": "p.{l} [h]"}, {"a": "x.{l} [h]", "b": "r.{l} [h]"}])");
  const auto made = [&](const std::set<std::string>& named) {
    MapWish wish;
    wish.is_named = [&](const std::string& name) { return named.contains(name); };
    return names_of(convert(map, 0, {tensor("x.0", {5}), tensor("x.1", {5})}, wish));
  };
  CHECK(made({}) == Words{"p.0 [5]", "p.1 [5]"});
  CHECK(made({"r.1"}) == Words{"p.0 [5]", "r.1 [5]"});
  CHECK(made({"p.1", "r.0", "r.1"}) == Words{"p.1 [5]", "r.0 [5]"});
}

TEST_CASE("a named spelling that needs more than the source has is not chosen") {
  const NameMap map =
      parse(sizes + R"("tensors": [{"a": "q [h]", "b": "one [h]"}, {"a": ["q [h]", "k [h]"], "b": "both [(h | h)]"}])");
  MapWish wish;
  wish.is_named = [](const std::string& name) { return name == "both"; };
  CHECK(names_of(convert(map, 0, {tensor("q", {5})}, wish)) == Words{"one [5]"});
  CHECK(names_of(convert(map, 0, {tensor("k", {5}), tensor("q", {5})}, wish)) == Words{"both [10]"});
}

TEST_CASE("a word before all names is no state") {
  const NameMap map = parse(
      sizes +
      R"("states": {"a": ["{state}.{name}"], "b": ["{state}/{name}"]}, "tensors": [{"a": "x.{l}", "b": "y.{l}"}])");
  const MapSizes of(map, ModelConfig("{}", "config.json"), {});
  const auto made = [&](const std::vector<Tensor>& tensors, bool has_weights) {
    MapSource source = source_of(tensors);
    source.has_weights = has_weights;
    return names_of(map_tensors(map, of, 0, source, {}));
  };
  const std::vector<Tensor> prefixed{tensor("module.x.0", {5}), tensor("module.x.1", {5})};
  CHECK(refusal([&] { made(prefixed, true); }).find("no rule takes module.x.0, module.x.1") != std::string::npos);
  CHECK(made(prefixed, false) == Words{"module/y.0 [5]", "module/y.1 [5]"});  // --only took the states alone
  CHECK(made({tensor("exp_avg.x.0", {5}), tensor("exp_avg.x.1", {5})}, true).size() == 2);  // a file of moments alone
  const std::vector<Tensor> with_state{tensor("m.x.0", {5}), tensor("m.x.1", {5}), tensor("model.x.0", {5}),
                                       tensor("x.1", {5})};
  CHECK(made(with_state, true) == Words{"m/y.0 [5]", "m/y.1 [5]", "y.0 [5]", "y.1 [5]"});
}

TEST_CASE("hostile maps are refused") {
  const std::string deep(1000, '(');
  CHECK(refusal([&] { with_rule("x [g " + deep + "d]", "y [g d]"); }).find("in its shape") != std::string::npos);
  CHECK(refusal([&] { with_rule("x [g]", "y [g]", R"(, "when": ")" + deep + R"(1")"); }).find("nested") !=
        std::string::npos);
  CHECK(refusal([] { parse(R"("base": "other", "tensors": [])"); }).find("based on itself") != std::string::npos);
  CHECK(refusal([] { parse(R"("tensors": [], "tensor": [])"); }).find("\"tensor\"") != std::string::npos);
  const NameMap huge = parse(
      R"("sizes": {"x": 1152921504606846976, "y": 1152921504606846976}, "tensors": [{"a": "w [x, y]", "b": "v [y, x]"}])");
  CHECK(refusal([&] { convert(huge, 0, {tensor("w", {2, 2})}); }).find("2^64") != std::string::npos);
  const NameMap many = parse(R"("sizes": {"x": 1152921504606846976}, "tensors": [{"a": "w [x]", "b": "v.{x} []"}])");
  CHECK(refusal([&] { convert(many, 0, {tensor("w", {4})}); }).find("makes more tensors") != std::string::npos);
  const NameMap round = parse(R"("sizes": {"x": "y", "y": "x"}, "tensors": [{"a": "w [x]", "b": "v [x]"}])");
  CHECK(refusal([&] { convert(round, 0, {tensor("w", {4})}); }).find("follows from itself") != std::string::npos);
}

TEST_CASE("a rule makes tensors of the other side, with names and shapes") {
  const NameMap map =
      with_rule("m.{l}.qkv [g (q d | d | d), h]", R"(["h.{l}.q [g q d, h]", "h.{l}.k [g d, h]", "h.{l}.v [g d, h]"])");
  const auto made = convert(map, 0, {tensor("m.0.qkv", {40, 5}), tensor("m.1.qkv", {40, 5})});
  CHECK(names_of(made) == std::vector<std::string>{"h.0.k [8, 5]", "h.0.q [24, 5]", "h.0.v [8, 5]", "h.1.k [8, 5]",
                                                   "h.1.q [24, 5]", "h.1.v [8, 5]"});
  CHECK(made.origins[0].links != nullptr);
  CHECK(names_of(convert(map, 1,
                         {tensor("h.0.k", {8, 5}), tensor("h.0.q", {24, 5}), tensor("h.0.v", {8, 5}),
                          tensor("h.1.k", {8, 5}), tensor("h.1.q", {24, 5}), tensor("h.1.v", {8, 5})})) ==
        std::vector<std::string>{"m.0.qkv [40, 5]", "m.1.qkv [40, 5]"});
}

TEST_CASE("a rename has no links, whatever its shape") {
  const auto made =
      convert(with_rule("m.{l}.norm", "h.{l}.norm"), 0, {tensor("m.0.norm", {9}), tensor("m.1.norm", {9})});
  CHECK(names_of(made) == std::vector<std::string>{"h.0.norm [9]", "h.1.norm [9]"});
  CHECK(made.origins[0].links == nullptr);
}

TEST_CASE("what does not fit a map is told") {
  const NameMap map = with_rule("m.{l}.kv [(d | d), h]", R"(["h.{l}.k [d, h]", "h.{l}.v [d, h]"])");
  CHECK(refusal([&] { convert(map, 0, {tensor("m.0.kv", {8, 5})}); }).find("'m.1.kv'") != std::string::npos);
  CHECK(refusal([&] {
          convert(map, 0, {tensor("m.0.kv", {9, 5}), tensor("m.1.kv", {8, 5})});
        }).find("[8, 5] by map.json: /tensors/0 (d=4 h=5)") != std::string::npos);
  CHECK(refusal([&] {
          convert(map, 1, {tensor("h.0.k", {4, 5}), tensor("h.1.k", {4, 5})});
        }).find("but not 'h.0.v'") != std::string::npos);
  CHECK(refusal([&] {
          convert(map, 0, {tensor("m.0.kv", {8, 5}), tensor("m.2.kv", {8, 5})});
        }).find("no rule takes m.2.kv of side \"a\", and the nearest is \"m.{l}.kv\" with l=2") != std::string::npos);
}

TEST_CASE("of the sizes that fit beside padding the largest is named") {
  const NameMap map = with_rule("w [(v | _), h]", "x [v, h]");
  CHECK(refusal([&] {
          convert(map, 0, {tensor("w", {6, 5})});
        }).find("; give --size v=6 if that") != std::string::npos);
}

TEST_CASE("conditions, offsets, stacks, ties and states") {
  const NameMap map =
      parse(sizes + R"("stack": {"a": {"l": "m.{l}."}}, "states": {"a": ["{state}/{name}"], "b": ["{state}.{name}"]},
    "drop": {"a": ["*_extra"]}, "tied": {"b": {"head": "embed"}, "when": "tie"},
    "tensors": [{"a": "embed", "b": "embed"}, {"a": "out", "b": "head", "when": "not tie"},
                {"a": "m.{l}.w [d, h]", "b": "h.{l}.w [h, d]"}, {"a": "next.{g}", "b": "h.{l + g}.n"}])");
  const auto made = convert(map, 0,
                            {tensor("embed", {3}), tensor("m.w", {2, 4, 5}), tensor("exp/m.w", {2, 4, 5}),
                             tensor("next.0", {1}), tensor("next.1", {1}), tensor("x_extra", {1})},
                            {}, R"({"tie": true})");
  CHECK(names_of(made) == std::vector<std::string>{"embed [3]", "exp.h.0.w [5, 4]", "exp.h.1.w [5, 4]", "h.0.w [5, 4]",
                                                   "h.1.w [5, 4]", "h.2.n [1]", "h.3.n [1]"});
  CHECK(made.dropped == std::vector<std::string>{"x_extra"});
  const auto back = convert(map, 1, {tensor("embed", {3}), tensor("head", {3})}, {}, R"({"tie": true})");
  CHECK(names_of(back) == std::vector<std::string>{"embed [3]"});
  CHECK(back.equal.size() == 1);
  MapWish wish;
  wish.names = {"embed", "head"};
  CHECK(names_of(convert(map, 0, {tensor("embed", {3})}, wish, R"({"tie": true})")) ==
        std::vector<std::string>{"embed [3]", "head [3]"});
}

TEST_CASE("a tensor has the one of its names that is expected") {
  const NameMap map = parse(sizes + R"("states": {"a": ["{state}/{name}"], "b": ["{state}.{name}"]},
    "tied": [{"a": {"w2": "w1", "w1": "w0"}, "b": {"head.{l}": "embed", "model.x.{l}": "embed"}}],
    "tensors": [{"a": "w0 [h]", "b": "embed [h]"}])");
  const std::vector<Tensor> source{tensor("w0", {5})};
  const auto made = [&](const std::vector<std::string>& names, const KeepMade& is_kept = {}) {
    MapWish wish;
    wish.names = names;
    return names_of(
        map_tensors(map, MapSizes(map, ModelConfig("{}", "config.json"), {}), 0, source_of(source), wish, is_kept));
  };
  CHECK(made({"head.0", "head.1"}) == Words{"head.0 [5]", "head.1 [5]"});
  CHECK(made({"embed", "head.1"}) == Words{"embed [5]", "head.1 [5]"});
  CHECK(made({"model.x.1", "model/head.1"}) ==
        Words{"model.x.1 [5]", "model/head.1 [5]"});  // "model." is no folder here
  CHECK(made({"other"}) == Words{"embed [5]"});
  CHECK(made({"head.0", "head.1"}, [](const std::string& name) { return name == "head.1"; }) == Words{"head.1 [5]"});
  CHECK(made({"head.1"}, [](const std::string& name) { return name == "embed"; }).empty());
  CHECK(names_of(convert(map, 0, {tensor("w2", {5})})) == Words{"embed [5]"});  // tied to what is tied
  CHECK(side_of_names(map, {"w2"}) == MapSide{0});
  CHECK(refusal([&] { convert(map, 0, {tensor("module.w0", {5})}); }).find("--rename 'module.{x}={x}'") !=
        std::string::npos);
}

TEST_CASE("ties that lead back are refused") {
  const auto tied = [](const std::string& ties) {
    return refusal([&] { parse(sizes + R"("tied": )" + ties + R"(, "tensors": [])"); });
  };
  CHECK(tied(R"({"a": {"w.{l}": "w.{l}"}})").find("/tied/a/w.{l}: found a tie of \"w.{l}\" that leads back") !=
        std::string::npos);
  CHECK(tied(R"([{"a": {"u": "v"}}, {"a": {"v": "w", "w": "u"}}])").find("/tied/1/a/w: ") != std::string::npos);
  CHECK(tied(R"([{"a": {"u": "v"}, "when": "tie"}, {"a": {"v": "u"}, "when": "not tie"}])") == "nothing");
  CHECK(tied(R"({"a": {"u": "v"}, "b": {"v": "u"}})") == "nothing");
  const auto chain = [](int ties) {
    std::string text;
    for (int i = 1; i <= ties; ++i)
      text += (i > 1 ? ", \"w" : "\"w") + std::to_string(i) + "\": \"w" + std::to_string(i - 1) + "\"";
    return R"({"a": {)" + text + "}}";
  };
  CHECK(tied(chain(9)).find("/tied/a/w9: found more than 8 ties in a row") != std::string::npos);
  const NameMap longest =
      parse(sizes + R"("tied": )" + chain(8) + R"(, "tensors": [{"a": "w0 [h]", "b": "embed [h]"}])");
  CHECK(names_of(convert(longest, 0, {tensor("w8", {5})})) == Words{"embed [5]"});
  const NameMap endless = parse(sizes + R"("tied": {"a": {"x.{rest}": "x.x.{rest}"}}, "tensors": [])");
  CHECK(refusal([&] { convert(endless, 0, {tensor("x.w", {5})}); }).find("no rule takes x.w") != std::string::npos);
}

TEST_CASE("sizes are reckoned exactly, from the first formula whose fields are there") {
  const NameMap map =
      parse(R"("sizes": {"g": ["kv", "n"], "q": "n / g", "f": ["inner", "4 * n"], "n": "n"}, "tensors": [])");
  const MapSizes of(map, ModelConfig(R"({"inner": null, "text_config": {"n": 6, "kinds": ["a", "b"]}})", "config.json"),
                    {{"kv", 4}});
  CHECK(of.size("g") == 4);
  CHECK(of.size("f") == 24);
  CHECK(refusal([&] { static_cast<void>(of.size("q")); }).find("6 / 4") != std::string::npos);
  const auto value = [&](const char* text) {
    return Formula(text).value([&](const std::string& name) { return std::optional(of.value(name)); })->is_true;
  };
  CHECK(value("kinds[1] == 'b' and not kinds[2] == 'b'"));
  CHECK(value("not n in absent and (n + 1) % 7 == 0"));
  CHECK_FALSE(value("absent >= 0 or absent != 1"));
}

TEST_CASE("a factor is a formula of sizes", "[names]") {
  const auto value = [](const std::string& text) {
    return RealFormula(text).value([](const std::string& name) { return std::uint64_t{name == "d" ? 16U : 3U}; });
  };
  CHECK(value("1 / sqrt(d)") == 0.25);
  CHECK(value("-(d - h) * .5 + 1e1") == 3.5);
  CHECK(value("d / h / 2") == 16.0 / 6);
  CHECK(std::isinf(value("1 / 0")));
  for (const char* bad : {"", "sqrt(d", "1 +", "1 2", "d d", "$", "1..2", "sqrt", "()"}) {
    CAPTURE(bad);
    const bool is_name = std::string(bad) == "sqrt";  // that of a size
    CHECK((refusal([&] { RealFormula{bad}; }) == "nothing") == is_name);
  }
  CHECK(refusal([] { RealFormula{std::string(100, '(') + "1"}; }).find("more than 32") != std::string::npos);
  CHECK(refusal([] { RealFormula{std::string(1000, '1')}; }).find("more than 256") != std::string::npos);
}
