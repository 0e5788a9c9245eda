#include "store/number_words.hpp"

#include "catch.hpp"

using namespace ckpt;

namespace {

std::string named(const char* word) {
  const auto type = type_by_word(word);
  return type ? type->name : "";
}

TEST_CASE("Types are known by the words of each framework") {
  for (const char* word : {"bfloat16", "torch.bfloat16", "BF16", "bf16", "<dtype: 'bfloat16'>", "tf.bfloat16",
                           "<class 'jax.numpy.bfloat16'>", "dtype('bfloat16')", "DT_BFLOAT16", "jnp.bfloat16"}) {
    CAPTURE(word);
    CHECK(named(word) == "bf16");
  }
  CHECK(named("F8_E4M3") == "f8_e4m3");
  CHECK(named("torch.float8_e5m2") == "f8_e5m2");
  CHECK(named("float8_e4m3fnuz") == "f8_e4m3fnuz");
  CHECK(named("Float") == "f32");
  CHECK(named("half") == "f16");
  CHECK(named("uint16") == "u16");
  CHECK(named("float8_e4m3").empty());  // with infinities for some, without for others
  CHECK(named("bf17").empty());
  CHECK(named("").empty());
}

TEST_CASE("A word that seems to mean floats of a size does so also where it is not known") {
  CHECK(seems_float("bfloat16", 2));
  CHECK(seems_float("float8_e3m4", 1));
  CHECK(seems_float("brain float16", 2));
  CHECK(seems_float("float32", 4));
  CHECK_FALSE(seems_float("float32", 2));
  CHECK_FALSE(seems_float("bfloat16", 8));
  CHECK_FALSE(seems_float("uint16", 2));
  CHECK_FALSE(seems_float("float", 2));
  CHECK_FALSE(seems_float("an image of 16 colours, floating in the middle of it", 2));
}

}  // namespace
