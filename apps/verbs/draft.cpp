#include "inspect/inspect_program.hpp"
#include "verbs/verbs.hpp"

namespace ckpt::cli {

Command draft_command() {
  return {
      "drafts the layout of a checkpoint that carries none",
      {"draft",
       "ckpt draft",
       "[--mesh dp=2,tp=4] [--expect REF] PATH > layout.json",
       "Drafts the layout of a checkpoint on standard output, as far as names, shapes and bytes prove it. What they "
       "leave open is listed on standard error, and has no rule in the draft. PATH is a directory with one file for "
       "each card. ckpt inspect --draft is another word for it.",
       {{"A layout to begin with, from the job's mesh and what the framework exported whole:",
         "ckpt draft --mesh dp=2,tp=4 --expect model.safetensors step_1000 > mine.json"},
        {"As far as the files alone tell:", "ckpt draft step_1000 > mine.json"}},
       "0 the layout is complete, 1 something is open or the checkpoint cannot be read, 2 the command line is wrong.",
       {"--mesh", "--expect", "--expect-missing", "--expect-extra", "--as", "--allow-external", "--quiet"}},
      &inspect_options,
      [](const Manual& manual, const Words& words) { return run_inspect_program(manual, words); }};
}

}  // namespace ckpt::cli
