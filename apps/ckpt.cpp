#include "verbs/verbs.hpp"

int main(int argc, char** argv) {
  return ckpt::cli::run_ckpt({argv, argv + argc});
}
