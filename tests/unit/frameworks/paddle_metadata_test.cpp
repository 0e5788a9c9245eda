#include "frameworks/paddle_metadata.hpp"

#include "catch.hpp"
#include "unit/store/torch_fixture.hpp"

using namespace ckpt;

namespace {

using namespace ckpt::fixture;
using Catch::Matchers::Contains;

std::string object(const std::string& name, const std::vector<std::pair<std::string, std::string>>& state) {
  return global("paddle.distributed.checkpoint.metadata", name) + ")\x81" + dict(state) + "b";
}

std::string metadata(const std::string& shape, const std::string& file, std::int64_t offset = 0) {
  const std::string key = object("LocalTensorIndex", {{"tensor_key", text("w")}, {"global_offset", numbers({0, 0})}});
  const std::string piece =
      object("LocalTensorMetadata", {{"global_offset", numbers({offset, 0})}, {"local_shape", shape}});
  return pickle(object("Metadata", {{"state_dict_metadata", "}" + text("w") + "](" + piece + "es"},
                                    {"storage_metadata", "}" + key + text(file) + "s"}}));
}

DistMetadata parsed(const std::string& bytes) {
  std::size_t at = 0;
  return parse_paddle_metadata(torch::Pickle::read(bytes, at).value());
}

}  // namespace

TEST_CASE("Paddle's distributed metadata are read, older ones too") {
  const auto found = parsed(metadata(numbers({2, 3}), "0_0.distcp"));
  REQUIRE(found.tensors.size() == 1);
  CHECK(found.tensors[0].shape == Shape{2, 3});
  CHECK(found.files == std::vector<std::string>{"0_0.distcp"});
}

TEST_CASE("Paddle's distributed metadata that contradict themselves are refused") {
  CHECK_THROWS_WITH(parsed(metadata(numbers({2, 3}), "../0_0.distcp")), Contains("a file of the directory"));
  CHECK_THROWS_WITH(parsed(metadata(numbers({2, 3}), "0_0.distcp", 4)), Contains("in no file"));
  CHECK_THROWS_WITH(parsed(metadata(numbers({2}), "0_0.distcp")), Contains("2 offsets and 1 sizes"));
  CHECK_THROWS_WITH(parsed(pickle(dict({}))), Contains("holds no Metadata"));
}
