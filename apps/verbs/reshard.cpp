#include "cli/job_program.hpp"
#include "verbs/verbs.hpp"

namespace ckpt::cli {

Command reshard_command() {
  return {
      "what N cards saved, for M cards",
      {"reshard",
       "ckpt reshard",
       "[--layout A.json] (--to B.json | --to-mesh AXIS=N,... | --cards N) SRC -o DST [options]",
       "Rewrites a checkpoint that N cards saved for M cards, exactly. SRC and DST are directories with one file for "
       "each card. Runs by itself or under mpirun or srun, with any number of processes.",
       {{"From the layout that 64 cards trained with to another layout, on all cores of this machine:",
         "ckpt reshard --layout train64.json --to train56.json step_1000 -o step_1000_56"},
        {"The same rules on a mesh of 56 cards, by 8 processes with 2 GiB of memory each:",
         "mpirun -n 8 ckpt reshard --layout train64.json --to-mesh dp=7,tp=8 --memory 2GiB step_1000 -o step_1000_56"},
        {"What DeepSpeed's ZeRO saved on 64 ranks, for a job of 48:",
         "ckpt reshard --cards 48 run/global_step1000 -o run48"}},
       "0 done, 1 the job failed and nothing was published, 2 the command line or a layout is wrong, or a path is not "
       "there, 75 the job failed and may succeed if it is tried again (full disk, lost process, timeout).",
       {"--layout", "--to", "--to-mesh", "--cards", "-o", "--only", "--drop", "--cast", "--format", "--force",
        "--resume", "--dry-run", "--memory", "--report"}},
      [](const Manual& manual) {
        return options_of({Verb::reshard, manual});
      },
      [](const Manual& manual, const Words& words) {
        return run_job_program({Verb::reshard, manual}, words);
      }};
}

}  // namespace ckpt::cli
