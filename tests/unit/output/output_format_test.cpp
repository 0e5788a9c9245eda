#include "output/output_format.hpp"

#include "catch.hpp"

using namespace ckpt;

namespace {

TEST_CASE("An ending that seems to be meant as another format's is refused, whatever stands before it") {
  for (const char* name : {"a.safetensor", "a.saftensors", "a.safetensors.tmp", "d.d/a.ptt", "a.PT", "a.ckp", "a.bin.1",
                           "a.ggml", "a.PB"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(check_ending(formats(), name), Error);
  }
  // What tells nothing, what may be meant as the format that is written, and what no ending is.
  for (const char* name : {"a", "llama-3.1-8b", "d.ptt/a", ".ptt", "a.h5.tmp", "a.hdf", "a.pt2", "a."}) {
    CAPTURE(name);
    CHECK_NOTHROW(check_ending(formats(), name));
  }
}

TEST_CASE("An output has the format asked for, that of its ending, or the first") {
  CHECK(output_format(formats(), "", "a.safetensors").name == "safetensors");
  CHECK(output_format(formats(), "", "a.he5").name == "hdf5");
  CHECK(output_format(formats(), "", "a").name == formats().front().name);
  CHECK(output_format(formats(), "safetensors", "a.h5").name == "safetensors");
  CHECK(output_format(formats(), "safetensors", "rank_{card}.pt").name == "safetensors");
}

TEST_CASE("Where no name says the format, it is the source's") {
  CHECK(output_format(formats(), "", "", {"safetensors"}).name == "safetensors");
  CHECK(output_format(formats(), "", "model", {"torch"}).name == "torch");
  CHECK(output_format(formats(), "", "", {"dcp"}).name == "dcp");
  CHECK(output_format(formats(), "", "model", {"dcp"}).name == "hdf5");  // one file is none of its directories
  CHECK(output_format(formats(), "", "", {"torch", "safetensors"}).name == "hdf5");
  CHECK(output_format(formats(), "", "a.h5", {"torch"}).name == "hdf5");
}

TEST_CASE("An ending of two formats means that of the source") {
  CHECK(output_format(formats(), "", "a.ckpt", {"torch"}).name == "torch");
  CHECK(output_format(formats(), "", "a.ckpt", {"dcp"}).name == "torch");
  CHECK(output_format(formats(), "", "a.ckpt", {"mindspore"}).name == "mindspore");
  CHECK(output_format(formats(), "", "a.ckpt", {"hdf5"}).name == "mindspore");
  CHECK_THROWS_AS(output_format(formats(), "", "a.ckpt", {"torch", "hdf5"}), Error);
  CHECK(output_format(formats(), "mindspore", "a.ckpt", {"torch"}).name == "mindspore");
  CHECK(output_format(formats(), "", "a.safetensors", {"torch"}).name == "safetensors");
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
  CHECK(path("torch") == "rank_0/checkpoint_0.pt");
  const Format& torch = output_format(formats(), "torch", "");
  CHECK(with_ending(layout, formats(), torch, true).files.path(layout.mesh, 0) == "rank_0/checkpoint_0.ckpt");
}

}  // namespace
