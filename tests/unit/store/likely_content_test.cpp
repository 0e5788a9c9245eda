#include "store/likely_content.hpp"

#include <fstream>
#include <string>

#include "catch.hpp"
#include "temporary_directory.hpp"

using namespace ckpt;
using namespace std::string_literals;
using Catch::Matchers::Contains;

namespace {

LikelyContent of(const std::string& name, const std::string& bytes) {
  const fixture::TemporaryDirectory scratch;
  std::ofstream(scratch / name, std::ios::binary) << bytes;
  return likely_content(scratch / name);
}

}  // namespace

TEST_CASE("content is told by its marks, whatever the name") {
  const std::string zeros(600, '\0');
  CHECK_THAT(of("w.safetensors", "version https://git-lfs.github.com/spec/v1\n").what, Contains("Git LFS pointer"));
  CHECK_THAT(of("w.safetensors", "").what, Contains("empty"));
  CHECK_THAT(of("w.pt", "\n <!DOCTYPE HTML>").what, Contains("HTML"));
  CHECK_THAT(of("w.pt", "\xef\xbb\xbf<html>").what, Contains("HTML"));
  CHECK_THAT(of("w.h5", "<?xml version='1.0'?><Error>").what, Contains("XML"));
  CHECK_THAT(of("w.h5", zeros).what, Contains("zeros"));
  CHECK_THAT(of("w.h5", "lmgg\3\0\0\0"s).what, Contains("GGML"));
  CHECK_THAT(of("w.bin",
                "\xfd"
                "7zXZ\0\0\4"s)
                 .what,
             Contains("xz"));
  CHECK_THAT(of("w.onnx", "\x08\x07\x12\x07pytorch").what, Contains("ONNX"));
  CHECK_THAT(of("model.ckpt", "abc\1"s + zeros + "\x57\xfb\x80\x8b\x24\x75\x47\xdb").what, Contains("TensorFlow"));
  CHECK_THAT(of("flax_model.msgpack", "\x82\xa6params\x81").what, Contains("Flax"));
  CHECK(of("w.h5", "{\"a\": 1}").what == "text, perhaps JSON");
  CHECK(of("w.h5", "abc\1\2").what.empty());
}

TEST_CASE("a zip archive is told by its first entry, a pickle by what it names") {
  const auto zip = [](const std::string& entry) {
    return "PK\3\4"s + std::string(22, '\0') + static_cast<char>(entry.size()) + std::string(3, '\0') + entry;
  };
  CHECK_THAT(of("m.keras", zip("metadata.json")).what, Contains("Keras"));
  CHECK_THAT(of("w.zip", zip("a.txt")).what, Contains("zip archive"));
  CHECK(of("w.pt", zip("archive/data.pkl")).what.empty());  // torch's own, cut off: its format tells more
  CHECK_THAT(of("m.bin", "\x80\x04\x95\0\0paddle"s).what, Contains("PaddlePaddle"));
  CHECK_THAT(of("state.pkl", "\x80\x04\x95 numpy.core.multiarray"s).what, Contains("NumPy"));
  CHECK(of("old.pt", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"s).what.empty());
}

TEST_CASE("a remedy names the file, and where its content goes") {
  const fixture::TemporaryDirectory scratch;
  std::ofstream(scratch / "m.safetensors.gz", std::ios::binary) << "\x1f\x8b\x08";
  const std::string remedy = likely_content(scratch / "m.safetensors.gz").remedy;
  CHECK(remedy == "unpack it: gzip -dc " + (scratch / "m.safetensors.gz").string() + " > " +
                      (scratch / "m.safetensors").string());
}
