#include "frameworks/indexed_layout.hpp"

#include "catch.hpp"
#include "layout/placement/resolve.hpp"
#include "store/dcp/dcp_store.hpp"
#include "store/orbax/orbax_store.hpp"
#include "tensor/dtype.hpp"

using namespace ckpt;

namespace {

const DType f32 = number_type("f32").value();

Placement on_cards(const std::string& rules, const std::vector<Tensor>& tensors) {
  const Layout layout = parse_layout(R"({"ckpt_layout": 1, "mesh": {"axes": ["dp", "tp"], "shape": [2, 2]},
                                         "files": "rank_{card}.h5", "default": "replicate", "parameters": [)" +
                                         rules + "]}",
                                     "a test");
  return resolve_target(layout, tensors).placement;
}

/// What a card holds of a parameter's array.
std::vector<Box> boxes_on(const Placement& placement, ParameterId parameter, Position card) {
  std::vector<Box> boxes;
  const ArrayId array = placement.array_of(parameter);
  if (!placement.holds(card, array)) return boxes;
  placement.for_each_region(array, card, {0, numel(placement.stored_shape(array, card))},
                            [&](ParameterId, const Region& region) { boxes.push_back(region.box); });
  return boxes;
}

}  // namespace

TEST_CASE("a directory of DCP stores each piece of the first copy once") {
  const std::vector<Tensor> tensors{{"norm", f32, {3}}, {"w", f32, {5, 2}}};
  const Placement target = on_cards(R"({"name": "w", "split": ["tp"], "uneven": "ceil"})", tensors);
  const Layout layout = indexed_layout(target, {"norm", "w"}, *dcp_store()->index());
  CHECK(layout.files.paths(layout.mesh) == std::vector<std::string>{"__0_0.distcp", "__1_0.distcp"});
  const Placement written = resolve_target(layout, tensors).placement;
  CHECK(boxes_on(written, 0, 0) == std::vector<Box>{{{0}, {3}}});
  CHECK(boxes_on(written, 0, 1).empty());
  CHECK(boxes_on(written, 1, 0) == std::vector<Box>{{{0, 0}, {3, 2}}});
  CHECK(boxes_on(written, 1, 1) == std::vector<Box>{{{3, 0}, {5, 2}}});
}

TEST_CASE("a card with several pieces of a tensor has several files of DCP") {
  const std::vector<Tensor> tensors{{"qkv", f32, {6, 2}}};
  const Placement target =
      on_cards(R"({"name": "qkv", "split": ["tp"], "parts": {"dim": 0, "sizes": [4, 2]}})", tensors);
  const Layout layout = indexed_layout(target, {"net.qkv"}, *dcp_store()->index());
  CHECK(layout.files.paths(layout.mesh) ==
        std::vector<std::string>{"__0_0.distcp", "__0_1.distcp", "__1_0.distcp", "__1_1.distcp"});
  const Placement written = resolve_target(layout, {{"net.qkv", f32, {6, 2}}}).placement;
  CHECK(boxes_on(written, 0, 0) == std::vector<Box>{{{0, 0}, {2, 2}}});
  CHECK(boxes_on(written, 0, 1) == std::vector<Box>{{{4, 0}, {5, 2}}});
  CHECK(boxes_on(written, 0, 3) == std::vector<Box>{{{5, 0}, {6, 2}}});
}

TEST_CASE("runs of a flat are boxes in DCP, and what is empty has one file") {
  const std::vector<Tensor> tensors{{"none", f32, {0, 4}}, {"w", f32, {3, 2}}};
  const Placement target = on_cards(R"({"name": "w", "flat": {"axis": "dp"}})", tensors);
  const Layout layout = indexed_layout(target, {"none", "w"}, *dcp_store()->index());
  const Placement written = resolve_target(layout, tensors).placement;
  std::uint64_t elements = 0;
  for (Position card = 0; card < written.mesh().size(); ++card)
    for (const Box& box : boxes_on(written, 1, card)) elements += numel(box.shape());
  CHECK(elements == 6);
  CHECK(written.holds(0, written.array_of(0)));
  CHECK(written.copies(1) == 1);
}

TEST_CASE("pieces for Orbax are of one shape, whatever the mesh") {
  const std::vector<Tensor> tensors{{"grid", f32, {5, 3}}, {"last", f32, {5, 2}}, {"w", f32, {5, 2}}};
  const Placement target = on_cards(R"({"name": "w", "split": ["tp"], "uneven": "ceil"},
                                       {"name": "last", "split": [null, "tp"], "at": {"dp": 1}},
                                       {"name": "grid", "split": ["dp", "tp"], "uneven": "ceil"})",
                                    tensors);
  const Placement written =
      resolve_target(indexed_layout(target, {"grid", "last", "w"}, *orbax_store()->index()), tensors).placement;
  for (Position card = 0; card < 4; ++card) CHECK(written.stored_shape(written.array_of(0), card) == Shape{3, 2});
  CHECK(boxes_on(written, 0, 3) == std::vector<Box>{{{3, 2}, {5, 3}}});
  CHECK(boxes_on(written, 1, 3) == std::vector<Box>{{{0, 1}, {5, 2}}});
  CHECK(written.stored_shape(written.array_of(2), 1) == Shape{3, 2});
  CHECK(boxes_on(written, 2, 1) == std::vector<Box>{{{3, 0}, {5, 2}}});
}

TEST_CASE("groups become parts of a name in DCP") {
  CHECK(dcp_store()->index()->tensor_name("model/layers.0/w") == "model.layers.0.w");
  CHECK(dcp_store()->index()->tensor_name("w") == "w");
}
