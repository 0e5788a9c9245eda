#include "cli/job_program.hpp"
#include "verbs/verbs.hpp"

namespace ckpt::cli {

Command merge_command() {
  return {
      "one file (or a few, with an index) of what N cards saved",
      {"merge",
       "ckpt merge",
       "[--layout A.json] SRC -o merged.h5 [options]",
       "Merges a checkpoint that N cards saved into one file that holds every parameter whole. SRC is a directory "
       "with one file for each card. One that says itself how it is cut needs no layout: "
       "torch.distributed.checkpoint, Megatron's torch_dist, DeepSpeed's ZeRO, rank files of DTensors or of FSDP, "
       "files with an index. Runs by itself or under mpirun or srun, with any number of processes.",
       {{"A model for serving from what torch.distributed.checkpoint saved:",
         "ckpt merge --drop 'optim.*' step-1000 -o model.safetensors"},
        {"One file of what 64 cards saved, on all cores of this machine:",
         "ckpt merge --layout train64.json step_1000 -o merged.h5"},
        {"The same in bfloat16, but for the norms:",
         "ckpt merge --layout train64.json --cast bf16 --cast 'f32:*.norm.*' step_1000 -o merged.safetensors"},
        {"As transformers read it, in files of 5 GB with an index:",
         "ckpt merge --layout train64.json --drop 'moments.*' --shard-size 5GB step_1000 -o model"},
        {"At once and without copying, to evaluate it while it stays where it is:",
         "ckpt merge --virtual --layout train64.json step_1000 -o seen.h5"},
        {"Compressed on its way, without a file of its own:",
         "ckpt merge --layout train64.json --format safetensors step_1000 -o - | zstd > merged.safetensors.zst"},
        {"The average of three steps, of any formats and numbers of cards:",
         "ckpt merge --average 0.5=RUN/300 0.3=RUN/200 0.2=RUN/100 --layout train64.json -o averaged.safetensors"},
        {"What a streaming job with parameter servers serves, the last base with its deltas, once they are there:",
         "ckpt merge --layout ps4.json --model OUT --latest chain --wait-for "
         "OUT/patch_donefile.txt:20190721/delta-6 -o serving.h5"},
        {"Only the weights, by 4 processes, as soon as the training job has set its done-file:",
         "mpirun -n 4 ckpt merge --layout train64.json --drop 'moments.*' --wait-for step_1000/done step_1000 -o "
         "weights.h5"}},
       "0 done, 1 the job failed and nothing was published, 2 the command line or a layout is wrong, or a path is not "
       "there, 75 the job failed and may succeed if it is tried again (full disk, lost process, timeout).",
       {"--layout", "-o", "--only", "--drop", "--rename", "--cast", "--format", "--shard-size", "--master-weights",
        "--force", "--resume", "--dry-run", "--memory", "--report"}},
      [](const Manual& manual) {
        return options_of({Verb::merge, manual});
      },
      [](const Manual& manual, const Words& words) {
        return run_job_program({Verb::merge, manual}, words);
      }};
}

}  // namespace ckpt::cli
