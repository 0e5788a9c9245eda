#include "cli/synonyms.hpp"

#include <algorithm>
#include <iterator>

#include "base/text.hpp"

namespace ckpt::cli {

namespace {

struct Synonym {
  std::string_view word;
  std::string_view option;
};

/// Sorted by what they mean. A word may stand here several times: a program names those of its options in this order.
constexpr Synonym synonyms[] = {
    {"--exclude", "--drop"},
    {"--ignore", "--drop"},
    {"--skip", "--drop"},
    {"--remove", "--drop"},
    {"--delete", "--drop"},
    {"--without", "--drop"},
    {"--exclude-patterns", "--drop"},
    {"--ignore-patterns", "--drop"},
    {"-x", "--drop"},
    {"--include", "--only"},
    {"--filter", "--only"},
    {"--select", "--only"},
    {"--keys", "--only"},
    {"--pattern", "--only"},
    {"--allow-patterns", "--only"},
    {"--params", "--only"},
    {"--parameters", "--only"},
    {"--tensors", "--only"},
    {"--name", "--only"},
    {"--param", "--only"},
    {"--weights-only", "--only"},
    {"--model-only", "--only"},
    {"--no-optimizer", "--drop"},
    {"--drop-optimizer", "--drop"},
    {"--dtype", "--cast"},
    {"--type", "--cast"},
    {"--precision", "--cast"},
    {"--torch-dtype", "--cast"},
    {"--to-dtype", "--cast"},
    {"--output-dtype", "--cast"},
    {"--convert", "--cast"},
    {"--bf16", "--cast"},
    {"--fp16", "--cast"},
    {"--fp32", "--cast"},
    {"--fp32", "--master-weights"},
    {"--zero-to-fp32", "--master-weights"},
    {"--master", "--master-weights"},
    {"--half", "--cast"},
    {"--map", "--rename"},
    {"--remap", "--rename"},
    {"--key-mapping", "--rename"},
    {"--replace", "--rename"},
    {"--prefix", "--rename"},
    {"--strip-prefix", "--rename"},
    {"--overwrite", "--force"},
    {"--clobber", "--force"},
    {"--replace-existing", "--force"},
    {"--exist-ok", "--force"},
    {"--yes", "--force"},
    {"-y", "--force"},
    {"-f", "--force"},
    {"--continue", "--resume"},
    {"--restart", "--resume"},
    {"--partial", "--resume"},
    {"--dryrun", "--dry-run"},
    {"--simulate", "--dry-run"},
    {"--plan", "--dry-run"},
    {"--check", "--dry-run"},
    {"--out", "--output"},
    {"--outfile", "--output"},
    {"--outdir", "--output"},
    {"--output-dir", "--output"},
    {"--output-path", "--output"},
    {"--output-file", "--output"},
    {"--save-dir", "--output"},
    {"--save-path", "--output"},
    {"--dest", "--output"},
    {"--destination", "--output"},
    {"--target", "--output"},
    {"--dst", "--output"},
    {"--to-dir", "--output"},
    {"--local-dir", "--output"},
    {"--output-format", "--format"},
    {"--safetensors", "--format"},
    {"--safe-serialization", "--format"},
    {"--hdf5", "--format"},
    {"--torch", "--format"},
    {"--max-shard-size", "--shard-size"},
    {"--max-size", "--shard-size"},
    {"--max-file-size", "--shard-size"},
    {"--split-size", "--shard-size"},
    {"--chunk-size", "--shard-size"},
    {"-j", "--threads"},
    {"--jobs", "--threads"},
    {"--workers", "--threads"},
    {"--num-workers", "--threads"},
    {"--max-workers", "--threads"},
    {"--num-threads", "--threads"},
    {"--parallel", "--threads"},
    {"--nproc", "--threads"},
    {"--cpus-per-task", "--threads"},
    {"-c", "--threads"},
    {"--mem", "--memory"},
    {"--max-memory", "--memory"},
    {"--buffer-size", "--memory"},
    {"-m", "--memory"},
    {"-n", "--cards"},
    {"-n", "--threads"},
    {"-np", "--cards"},
    {"--ntasks", "--cards"},
    {"--ranks", "--cards"},
    {"--num-ranks", "--cards"},
    {"--card", "--cards"},
    {"--num-cards", "--cards"},
    {"--gpus", "--cards"},
    {"--num-gpus", "--cards"},
    {"--devices", "--cards"},
    {"--world-size", "--cards"},
    {"--nproc-per-node", "--cards"},
    {"--num-shards", "--cards"},
    {"--shards", "--cards"},
    {"--parts", "--cards"},
    {"--tp", "--to-mesh"},
    {"--pp", "--to-mesh"},
    {"--dp", "--to-mesh"},
    {"--tp-size", "--to-mesh"},
    {"--tensor-parallel-size", "--to-mesh"},
    {"--tensor-model-parallel-size", "--to-mesh"},
    {"--target-tensor-parallel-size", "--to-mesh"},
    {"--pipeline-model-parallel-size", "--to-mesh"},
    {"--target-tp", "--to-mesh"},
    {"--target-mesh", "--to-mesh"},
    {"--mesh", "--to-mesh"},
    {"--tp", "--mesh"},
    {"--dp", "--mesh"},
    {"--to-mesh", "--mesh"},
    {"--strategy", "--layout"},
    {"--src-strategy", "--layout"},
    {"--src-strategy-file", "--layout"},
    {"--dst-strategy", "--to"},
    {"--dst-strategy", "--layout"},
    {"--dst-strategy-file", "--to"},
    {"--dst-strategy-file", "--layout"},
    {"--config", "--layout"},
    {"--plan-file", "--layout"},
    {"--reference", "--expect"},
    {"--ref", "--expect"},
    {"--like", "--expect"},
    {"--shapes", "--expect"},
    {"--rtol", "--tolerance"},
    {"--atol", "--tolerance"},
    {"--allclose", "--tolerance"},
    {"--epsilon", "--tolerance"},
    {"--checksum", "--verify"},
    {"--validate", "--verify"},
    {"--timeout", "--wait-timeout"},
    {"--time", "--wait-timeout"},
    {"-t", "--wait-timeout"},
    {"--wait", "--wait-for"},
    {"--dependency", "--wait-for"},
    {"--afterok", "--wait-for"},
    {"--symlink", "--virtual"},
    {"--link", "--virtual"},
    {"--vds", "--virtual"},
    {"--no-copy", "--virtual"},
    {"--werror", "--strict"},
    {"--fail-on-warning", "--strict"},
    {"--debug", "--verbose"},
    {"--silent", "--quiet"},
    {"--quiet-mode", "--quiet"},
    {"--log", "--log-level"},
    {"--loglevel", "--log-level"},
    {"--no-progress", "--progress"},
    {"--bar", "--progress"},
    {"--image", "--picture"},
    {"--plot", "--picture"},
    {"--svg", "--picture"},
    {"--guess", "--draft"},
    {"--infer", "--draft"},
    {"--detect", "--draft"},
    {"-V", "--version"},
    {"-?", "--help"},
};

struct DtypeWord {
  std::string_view word;
  std::string_view dtype;
};
constexpr DtypeWord dtype_words[] = {
    {"float64", "f64"}, {"double", "f64"},   {"fp64", "f64"}, {"f64", "f64"},       {"float32", "f32"},
    {"float", "f32"},   {"fp32", "f32"},     {"f32", "f32"},  {"single", "f32"},    {"float16", "f16"},
    {"half", "f16"},    {"fp16", "f16"},     {"f16", "f16"},  {"bfloat16", "bf16"}, {"bf16", "bf16"},
    {"bfloat", "bf16"}, {"brain16", "bf16"},
};

}  // namespace

std::vector<std::string_view> options_like(std::string_view word) {
  const bool is_short = !word.starts_with("--");  // whose case counts: -V
  std::string plain = is_short ? std::string(word) : lower_case(word);
  std::ranges::replace(plain, '_', '-');
  std::vector<std::string_view> options;
  for (const Synonym& each : synonyms)
    if (each.word == plain) options.push_back(each.option);
  return options;
}

std::string dtype_word(std::string_view word) {
  std::string lower = lower_case(word);
  for (const std::string_view module : {"torch.", "np.", "numpy.", "jnp.", "ms.", "mindspore."})
    if (lower.starts_with(module)) lower.erase(0, module.size());
  const auto* const found = std::ranges::find(dtype_words, std::string_view(lower), &DtypeWord::word);
  return std::string(found == std::end(dtype_words) ? word : found->dtype);
}

}  // namespace ckpt::cli
