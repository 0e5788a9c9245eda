#include "cli/synonyms.hpp"

#include "catch.hpp"

using namespace ckpt::cli;

TEST_CASE("words of other programs' options mean ours") {
  using Options = std::vector<std::string_view>;
  CHECK(options_like("--exclude") == Options{"--drop"});
  CHECK(options_like("--max_shard_size") == Options{"--shard-size"});
  CHECK(options_like("--World-Size") == Options{"--cards"});
  CHECK(options_like("-n") == Options{"--cards", "--threads"});
  CHECK(options_like("--include") == Options{"--only"});
  CHECK(options_like("-V") == Options{"--version"});
  CHECK(options_like("-v").empty());
  CHECK(options_like("--nonsense").empty());
}

TEST_CASE("dtypes are read under the names of torch, NumPy and JAX") {
  for (const char* word : {"torch.bfloat16", "BF16", "bfloat16", "jnp.bfloat16"}) CHECK(dtype_word(word) == "bf16");
  for (const char* word : {"half", "Float16", "fp16", "np.float16"}) CHECK(dtype_word(word) == "f16");
  CHECK(dtype_word("torch.float") == "f32");
  CHECK(dtype_word("double") == "f64");
  CHECK(dtype_word("int8") == "int8");
}
