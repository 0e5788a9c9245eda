#include "frameworks/module_layout.hpp"

#include "catch.hpp"
#include "layout/language/rule_json.hpp"
#include "refused.hpp"
#include "unit/frameworks/zero_fixture.hpp"

using namespace ckpt;
using namespace ckpt::deepspeed;
using Catch::Matchers::Contains;
using namespace ckpt::fixture;

namespace {

Layout parsed(const std::string& mesh, const std::string& more = "") {
  return parse_layout(R"({"ckpt_layout": 1, "mesh": )" + mesh + more + "}", "module.json");
}

const std::string two = R"({"axes": ["tp"], "shape": [2]})";

}  // namespace

TEST_CASE("A layout of a module's weights has one axis, of the model ranks, and rules") {
  const Layout layout = parsed(R"({"axes": ["dp", "mp"], "shape": [3, 2]})");
  const ModuleLayout module = module_layout(layout);
  CHECK(module.axis == "mp");
  CHECK(module.ranks == 2);
  CHECK(module.data_ranks == 3);
  const Layout alone = parsed(two);
  CHECK_FALSE(module_layout(alone).data_ranks);
  const auto why = [](const std::string& mesh, const std::string& more = "") {
    return refused([&] { module_layout(parsed(mesh, more)); }, Kind::layout);
  };
  CHECK_THAT(why(R"({"axes": ["dp"], "shape": [2]})"), Contains("found the axis dp alone, expected one for the model"));
  CHECK_THAT(why(R"({"axes": ["dp", "tp", "sp"], "shape": [1, 1, 1]})"), Contains("found the axes dp, tp, sp"));
  CHECK_THAT(why(R"({"axes": ["tp"], "shape": [2], "cards": [1, 0]})"), Contains("found \"cards\" of the mesh"));
  CHECK_THAT(why(two, R"(, "rename": [{"stored": "a", "name": "b"}])"),
             Contains("found \"rename\", expected \"mesh\", \"parameters\" and \"default\" alone"));
}

TEST_CASE("Weights without a rule are told of together") {
  const Schema model = schema_of({{"module/h.0.w", {2}}, {"module/c", {2}}, {"mine/x", {2}}});
  ModelStates states;
  states.groups = {{{"h.0.w", {2}}, {"h.1.w", {2}}}};
  states.frozen = {{"b", {2}}};
  states.buffers = {"seen"};  // in no file
  const auto names = names_of_module(model, states);
  CHECK(names == std::vector<std::string>{"b", "c", "h.0.w", "h.1.w", "seen"});
  const std::string rule = R"(, "parameters": [{"name": "c"}])";
  CHECK_THAT(refused([&] { check_rules(parsed(two, rule), names); }, Kind::layout),
             Contains("no rule for b, h.*.w: 2 parameters, seen") && !Contains("mine"));
  CHECK(refused([&] { check_rules(parsed(two, R"(, "default": "replicate")"), names); }).empty());
}

TEST_CASE("It must be of as many ranks as the files are") {
  TagFiles files;
  files.model_ranks = 2;
  ModelStates states;
  states.model_ranks = 2;
  states.data_ranks = 4;
  states.groups = {{{"w", {3}}}};
  const auto why = [&](const std::string& mesh) {
    const Layout layout = parsed(mesh);
    return refused([&] { check_module(module_layout(layout), files, states); });
  };
  CHECK(why(two).empty());
  CHECK_THAT(why(R"({"axes": ["tp"], "shape": [4]})"),
             Contains("mp_world_size: found 2, expected 4, the size of the axis tp in module.json"));
  CHECK_THAT(why(R"({"axes": ["dp", "tp"], "shape": [3, 2]})"), Contains("dp_world_size: found 4, expected 3"));
  files.model_ranks = 3;
  CHECK_THAT(why(two), Contains("found files of 3 model ranks, expected 2"));
}

TEST_CASE("Of ZeRO-3 the keys of each weight have its whole shape") {
  TagFiles files;
  files.model = "zero_pp_rank_{dp}_mp_rank_{tp:02}_model_states.pt";
  ModelStates states;
  states.data_ranks = 3;
  states.model_ranks = 2;
  states.groups = {{{"up", {4, 6}}, {"down", {6, 4}}, {"norm", {6}}}};
  states.frozen = {{"table", {5}}};
  states.buffers = {"seen"};
  const auto keys = [&](const std::string& rules) {
    const Layout layout = parsed(two, R"(, "parameters": [)" + rules + R"(], "default": "replicate")");
    const auto of_pieces = keys_of_pieces(module_layout(layout), files, {states, states});
    std::map<std::string, std::string> texts;
    for (const auto& [name, of_piece] : of_pieces) texts[name] = to_json(of_piece, Mesh{{"dp", "tp"}, {3, 2}, {}});
    return texts;
  };
  const auto found = keys(
      R"({"name": "up", "split": ["tp"], "parts": {"dim": 0, "count": 2}}, {"name": "down", "split": [null, "tp"]})");
  CHECK(found.size() == 5);
  CHECK(found.at("up") == R"({"split": ["tp"], "parts": {"dim": 0, "count": 2}, "shape": [8, 6]})");
  CHECK_THAT(found.at("down"), Contains(R"("shape": [6, 8])"));
  CHECK(found.at("norm") == R"({"shape": [6]})");
  CHECK(found.at("table") == R"({"shape": [5]})");
  CHECK(found.at("seen") == "{}");
  CHECK_THAT(refused([&] { keys(R"({"name": "norm", "flat": {"axis": "tp"}, "shape": [12]})"); }, Kind::layout),
             Contains("parameter 'norm': found \"flat\", expected \"split\" and its like alone"));
}
