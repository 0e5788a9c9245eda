#include "output/output_format.hpp"

#include "catch.hpp"

namespace ckpt {
namespace {

TEST_CASE("An output has the format asked for, that of its ending, or the first") {
  CHECK(output_format(formats(), "", "a.safetensors").name == "safetensors");
  CHECK(output_format(formats(), "", "a.he5").name == "hdf5");
  CHECK(output_format(formats(), "", "a").name == formats().front().name);
  CHECK(output_format(formats(), "safetensors", "a.h5").name == "safetensors");
  CHECK(output_format(formats(), "safetensors", "rank_{card}.pt").name == "safetensors");
}

}  // namespace
}  // namespace ckpt
