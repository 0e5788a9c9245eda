#include "cli/job_program.hpp"

int main(int argc, char** argv) {
  const ckpt::cli::Program program{
      ckpt::cli::Verb::reshard,
      {"ckpt-reshard",
       "[--from A.json] (--to B.json | --to-mesh AXIS=N,... | --cards N) SRC -o DST [options]",
       "Rewrites a checkpoint that N cards saved for M cards, exactly. SRC and DST are directories with one file "
       "for each card. Runs by itself or under mpirun or srun, with any number of processes.",
       {{"From the layout that 64 cards trained with to another layout, on all cores of this machine:",
         "ckpt-reshard --from train64.json --to train56.json step_1000 -o step_1000_56"},
        {"The same rules on a mesh of 56 cards, by 8 processes with 2 GiB of memory each:",
         "mpirun -n 8 ckpt-reshard --from train64.json --to-mesh dp=7,tp=8 --memory 2GiB step_1000 -o step_1000_56"},
        {"What DeepSpeed's ZeRO saved on 64 ranks, for a job of 48:",
         "ckpt-reshard --cards 48 run/global_step1000 -o run48"}},
       "0 done, 1 the job failed and nothing was published, 2 the command line or a layout is wrong."}};
  return ckpt::cli::run_job_program(program, argc, argv);
}
