#include "cli/job_program.hpp"
#include "verbs/verbs.hpp"

namespace ckpt::cli {

Command split_command() {
  return {
      "one file for each of M cards, from a merged file",
      {"split",
       "ckpt split",
       "--to B.json merged.h5 -o DST [options]",
       "Splits a file that holds every parameter whole into one file for each of M cards, in the directory DST. "
       "SRC may also be any checkpoint that carries its layout. Runs by itself or under mpirun or srun, with any "
       "number of processes.",
       {{"A merged file for the cards of stage two, on all cores of this machine:",
         "ckpt split --to stage2.json merged.h5 -o stage2"},
        {"First a look at what it would do, and what each rule of the layout decides:",
         "ckpt split --to stage2.json merged.h5 -o stage2 --dry-run -v"}},
       "0 done, 1 the job failed and nothing was published, 2 the command line or a layout is wrong, or a path is not "
       "there, 75 the job failed and may succeed if it is tried again (full disk, lost process, timeout).",
       {"--to", "--layout", "-o", "--only", "--drop", "--rename", "--cast", "--format", "--force", "--resume",
        "--dry-run", "--memory", "--report"}},
      [](const Manual& manual) {
        return options_of({Verb::split, manual});
      },
      [](const Manual& manual, const Words& words) {
        return run_job_program({Verb::split, manual}, words);
      }};
}

}  // namespace ckpt::cli
