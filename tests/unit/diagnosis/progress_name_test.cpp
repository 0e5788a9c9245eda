#include <string>

#include "catch.hpp"
#include "diagnosis/same_step.hpp"

using ckpt::is_progress_name;

TEST_CASE("a name says how far the training has come in the words of any framework") {
  for (const std::string name : {"step",
                                 "Step",
                                 "global_step",
                                 "global-step",
                                 "globalStep",
                                 "global_steps",
                                 "epoch",
                                 "current_epoch",
                                 "iteration",
                                 "iter",
                                 "cur_iter",
                                 "num_updates",
                                 "step_num",
                                 "last_epoch",
                                 "_step_count",
                                 "trainer/epoch",
                                 "optimizer/state/0/step",
                                 "consumed_train_samples",
                                 "lr_scheduler.last_epoch",
                                 "update",
                                 "trained_tokens",
                                 "tokens_seen",
                                 "num_processed_batches"})
    CHECK(is_progress_name(name));
}

TEST_CASE("what each card counts for itself, and settings, are no progress") {
  for (const std::string name :
       {"", "rank", "steps_per_epoch", "warmup_steps", "time_per_step", "skipped_steps", "epoch_seconds", "stepsize",
        "dataloader/epoch", "train_dataloader/0/step", "sampler/epoch", "rng_state/step", "dataset/iteration",
        "worker_0/step", "step/lr", "lr", "num_tokens", "samples_per_step", "special_tokens"})
    CHECK_FALSE(is_progress_name(name));
}
