#include "verbs/verbs.hpp"
#include "verify/verify_program.hpp"

namespace ckpt::cli {

Command verify_command() {
  return {"whether two checkpoints hold the same tensors, or one is intact",
          {"verify",
           "ckpt verify",
           "[--layout A.json] A [[--to B.json] B] [options]",
           "Proves that two checkpoints, each in its own layout and for any number of cards, hold the same tensors: "
           "names, dtypes, shapes, and every byte of every copy that B's cards hold. Padding is no part of a tensor, "
           "and attributes are not compared. With A alone: that it is as it was written, by the manifest that these "
           "programs left with it, and that the keys of tables are on their servers. A and B are directories with one "
           "file for each card, or single files. Runs by itself or under mpirun or srun, with any number of processes.",
           {{"Whether the files of 64 cards and what was made of them for 56 hold the same:",
             "ckpt verify --layout train64.json step_1000 step_1000_56"},
            {"Whether weights that were cast to bf16 are what they should be, by 4 processes:",
             "mpirun -n 4 ckpt verify --layout train64.json --drop 'moments.*' --tolerance 4e-3 step_1000 weights.h5"}},
           "0 the same, 1 they differ (standard output says where), 2 they could not be compared, or the command line "
           "or a layout is wrong.",
           {"--layout", "--to", "--only", "--drop", "--rename", "--tolerance", "--expect", "--fingerprints", "--json",
            "--replicas", "--memory", "--threads"}},
          [](const Manual& manual) {
            return options_of({Verb::verify, manual});
          },
          [](const Manual& manual, const Words& words) {
            return run_verify_program({Verb::verify, manual}, words);
          }};
}

}  // namespace ckpt::cli
