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

TEST_CASE("Files whose names a layout leaves open get one, with the format's ending") {
  Layout layout = single_card();
  layout.files = CardFiles({FileEntry{FileTemplate("rank_{card}/*.ckpt", layout.mesh), ""}});
  const auto path = [&](const char* format) {
    const Format& wanted = output_format(formats(), format, layout.files.entries().front().path.text());
    return with_ending(layout, formats(), wanted).files.path(layout.mesh, 0);
  };
  CHECK(path("") == "rank_0/checkpoint_0.ckpt");
  CHECK(path("hdf5") == "rank_0/checkpoint_0.h5");
}

}  // namespace
}  // namespace ckpt
