#include "inspect/inspect_program.hpp"
#include "verbs/verbs.hpp"

namespace ckpt::cli {

Command inspect_command() {
  return {
      "shows what a checkpoint holds, and which card has what",
      {"inspect",
       "ckpt inspect",
       "[--layout A.json | --draft | --as-layout STRATEGY] PATH [options]",
       "Shows what a checkpoint holds: its parameters, their dtypes, the shapes that the cards store, attributes "
       "and bytes; with a layout also the logical shapes, the rules that decide them, and which card holds which "
       "box. PATH is a directory with one file for each card, or a single file; above several checkpoints, the "
       "commands are shown that show each. Reads metadata only, but for --draft. More than 24 parameters are summed "
       "up first; tables fit the terminal, or the environment variable COLUMNS, and parameters that differ only in "
       "numbers share a row there; elsewhere each parameter is one line.",
       {{"What is in the files of a training job, before a layout is written:", "ckpt inspect step_1000"},
        {"Which box of the attention weights each card holds:",
         "ckpt inspect --layout train64.json --only '*.attn.*' step_1000"},
        {"A layout to begin with, from the job's mesh and what the framework exported whole:",
         "ckpt draft --mesh dp=2,tp=4 --expect model.safetensors step_1000 > mine.json"},
        {"What a strategy file of MindSpore says, as a layout:",
         "ckpt inspect --as-layout src_strategy.ckpt > mine.json"},
        {"Which card holds what, as a picture for a browser:",
         "ckpt inspect --layout train64.json --picture train64.svg step_1000"},
        {"What a directory of torch.distributed.checkpoint says of itself, as a layout to change:",
         "ckpt inspect --as-layout step-1000 > mine.json"}},
       "0 done, 1 the checkpoint cannot be read or is not what the layout says, or a draft leaves something open, "
       "2 the command line or the layout is wrong.",
       {"--layout", "--only", "--drop", "--all", "--picture", "--as-layout", "--draft", "--key", "--json", "--expect",
        "--quiet"}},
      &inspect_options,
      [](const Manual& manual, const Words& words) { return run_inspect_program(manual, words); }};
}

}  // namespace ckpt::cli
