#pragma once

#include <compare>
#include <string>
#include <vector>

namespace ckpt {

/// How the user can resolve an error by changing the job's settings. The programs put it into words, with the names of
/// their options.
struct Advice {
  enum class What {
    none,
    replace_output,     ///< or choose another output
    resume_or_restart,  ///< resume what an earlier run left, or replace it
    restart,            ///< replace what an earlier run left
    give_layout,        ///< for the source
    draft_layout,       ///< for the source, or give it: `detail` is the path
    print_layout,       ///< of a strategy (`detail`), to add in its second line where the files lie
    wait_for_writer,    ///< start once the job that saves the checkpoint is done
    compare_two,        ///< compare a checkpoint with the one that it was made from
    fewer_threads,
    less_memory,  ///< or fewer threads
    less_device_memory,
    more_memory,     ///< `detail`: how much
    trust_replicas,  ///< do not compare them
    mix_steps,       ///< take files of several saves for one checkpoint
    leave_out,       ///< the parameter, or those whose names `detail` has, a line each
    choose_others,   ///< other parameters to keep
    rename,          ///< the parameter, whose name `detail` may be
    rename_all,      ///< parameters: `detail` is the renaming, "model.{x}={x}" in each line
    rename_or_leave_out,
    say_uneven,       ///< how what does not divide is cut
    say_axes,         ///< give the size of each axis: `detail` is an example, "tp=4"
    other_exchange,   ///< one that needs less: `detail` lists them
    excuse_by_name,   ///< excuse names that are meant to differ from the expectation
    give_tensors,     ///< give the whole tensors, to check a draft against them
    give_mesh,        ///< the mesh of the job that saved the checkpoint
    allow_external,   ///< allow data in files elsewhere: `detail` is the directory
    write_data,       ///< write an output with data of its own, instead of one that shows the source's
    go_alone,         ///< do not join the launcher's job: `detail` is when that is right
    more_patience,    ///< a longer limit for devices that make no progress
    say_unfused,      ///< or give the whole tensors: say which parameters are not fused
    accept_warnings,  ///< do not take them for errors
    excuse_unlike,    ///< excuse parameters whose elements are not like the expected model's: `detail` is globs, a line
                      ///< each
    allow_arithmetic,  ///< let a map recompute elements
  };
  friend constexpr What last_of(What) { return What::allow_arithmetic; }

  What what = What::none;
  std::string detail;

  friend auto operator<=>(const Advice&, const Advice&) = default;
};

/// Advises to leave out these parameters: a few by name; of many, `detail` keeps no name, and the user finds a pattern.
Advice leaving_out(const std::vector<std::string>& names);

}  // namespace ckpt
