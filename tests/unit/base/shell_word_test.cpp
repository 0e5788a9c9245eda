#include "base/shell_word.hpp"

#include "catch.hpp"

using namespace ckpt;

TEST_CASE("a word for a shell is quoted where it has to be") {
  CHECK(shell_word("dir/step-1") == "dir/step-1");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("my model") == "'my model'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$HOME/*") == "'$HOME/*'");
}
