#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ckpt::deepspeed {

/// The parts of a DeepSpeed file's name: "bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt".
struct FileName {
  bool is_optimizer = false;
  std::string precision;                   ///< "bf16_", or nothing
  std::optional<std::uint64_t> data_rank;  ///< absent if all data ranks share the file
  std::uint64_t model_rank = 0;
};

/// Returns nothing for names of other files. `name`: without folders.
/// https://github.com/deepspeedai/DeepSpeed, deepspeed/runtime/engine.py, _get_ckpt_name, _get_rank_zero_ckpt_name
std::optional<FileName> parse_file_name(const std::string& name);

/// The files of one tag (`global_step1000`): templates over the axis `dp`, and over the model ranks' axis if there is
/// one.
struct TagFiles {
  std::string tag;
  std::string folder;     ///< "global_step1000/" below the directory; empty if it is the directory itself
  std::string model;      ///< "mp_rank_00_model_states.pt", or with `model_of_each_rank` "zero_pp_rank_{dp}_…"
  std::string optimizer;  ///< "bf16_zero_pp_rank_{dp}_mp_rank_00_optim_states.pt"; empty without ZeRO
  bool model_of_each_rank = false;  ///< ZeRO-3
  std::uint64_t optimizer_files = 0;
  std::string model_axis;  ///< "mp_rank_{tp:02}_…"; empty: one model rank, whose number is in the name
  std::uint64_t model_ranks = 1;
  std::uint64_t data_ranks = 1;  ///< as far as names show

  /// The path of a rank's file, below the directory.
  std::string path(const std::string& file, std::uint64_t data_rank, std::uint64_t model_rank = 0) const;
};

/// The file in a run's directory that names the tag written last.
inline constexpr const char* latest_file = "latest";

/// Whether a directory is a tag of a DeepSpeed job, or `latest` in it names one.
bool has_tag(const std::filesystem::path& directory);

/// Finds the tag's files. `model_axis`: the name of the model ranks' axis, if a layout says how they cut the weights.
/// Throws input, naming the file, for anything that a layout must describe: several model ranks without an axis,
/// experts, pipelines; and for universal checkpoints.
TagFiles find_tag(const std::filesystem::path& directory, const std::string& model_axis = "");

}  // namespace ckpt::deepspeed
