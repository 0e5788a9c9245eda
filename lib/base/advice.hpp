#pragma once

#include <compare>
#include <string>

namespace ckpt {

/// What the user can do about an error by changing the job's settings. The programs put it into words: the names of
/// their options.
struct Advice {
  enum class What {
    none,
    replace_output,     ///< or choose another
    resume_or_restart,  ///< go on with what an earlier run left, or replace it
    restart,            ///< replace what an earlier run left
    give_layout,        ///< of what is read
    draft_layout,       ///< of what is read, or give it: `detail` is the path
    print_layout,       ///< of a strategy (`detail`), to say in it (its second line) where the files lie
    wait_for_writer,    ///< start when the job that saves the checkpoint is done
    compare_two,        ///< a checkpoint with the one that it was made of
    fewer_threads,
    less_memory,  ///< or fewer threads
    less_device_memory,
    more_memory,     ///< `detail`: how much
    trust_replicas,  ///< not to compare them
    leave_out,       ///< the parameter
    choose_others,   ///< other parameters to keep
    rename,          ///< the parameter
    rename_all,      ///< parameters: `detail` is how, "model.{x}={x}" in each line
    rename_or_leave_out,
    say_axes,        ///< the size of each axis: `detail` is one, "tp=4"
    other_exchange,  ///< one that needs less: `detail` lists them
    excuse_by_name,  ///< what is meant to differ from what is expected
    give_tensors,    ///< the whole ones, for a draft to be held against
    give_mesh,       ///< that of the job that saved the checkpoint
    allow_external,  ///< data of files in other places: `detail` is the directory
    write_data,      ///< an output with data of its own, instead of one that shows the source's
    go_alone,        ///< not to join the launcher's job: `detail` is where that is right
    more_patience,   ///< a longer limit for devices that make no progress
  };
  What what = What::none;
  std::string detail;

  friend auto operator<=>(const Advice&, const Advice&) = default;
};

}  // namespace ckpt
