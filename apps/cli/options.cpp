#include "cli/options.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "cli/external.hpp"
#include "cli/number_types.hpp"
#include "cli/processes.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

void declare_elsewhere(CommandLine& line, const std::string& rules, Options& to) {
  line.value("--to-mesh", to.to_mesh, "AXIS=N,...",
             rules + " on another mesh, instead of --to; for example dp=7,tp=8; axes not named keep their size");
  line.value("--cards", to.cards, "N", rules + " on N cards, instead of --to; for a mesh of one axis");
  line.value("--uneven", to.uneven, "ceil|balanced",
             "with --to-mesh or --cards: how rules cut what does not divide, where they do not say it: all pieces "
             "but the last ones of one size, or sizes that differ by one at most");
}

void declare_layouts(CommandLine& line, Verb verb, Options& to) {
  line.group("Layouts (a file, MindSpore's strategy or a directory of them, or - for standard input)");
  const std::string carried = "; may be left out where the checkpoint carries it, or says itself how it is cut";
  if (verb == Verb::verify) {
    line.value("--layout,(--from)", to.source_layout, "A.json", "layout of A" + carried);
    line.value("--to", to.target_layout, "B.json", "layout of B" + carried);
    return;
  }
  if (verb == Verb::merge) {
    line.value("--layout,(--from)", to.source_layout, "A.json", "layout of SRC" + carried);
    return;
  }
  if (verb == Verb::split) {
    line.value("--to", to.target_layout, "B.json", "layout of the output");
    declare_elsewhere(line, "the rules by which SRC was merged, which it keeps,", to);
    line.value("--layout", to.only_layout, "A.json",
               "layout of SRC where it is no single file" + carried +
                   ". Without --to it is that of the output, as before there was --to");
    line.value("(--from)", to.source_layout, "A.json", "");
    return;
  }
  line.value("--layout,(--from)", to.source_layout, "A.json", "layout of SRC" + carried);
  line.value("--to", to.target_layout, "B.json", "layout of the output");
  declare_elsewhere(line, "SRC's own rules", to);
}

void declare_average(CommandLine& line, Verb verb, Options& to) {
  line.group("Source");
  line.several(
      "--average", to.average, "W=SRC[:LAYOUT]...",
      std::string("instead of ") + (verb == Verb::verify ? "A" : "SRC") +
          ": several checkpoints, of whose floating-point elements the sum is taken, each times its weight W (0.5, "
          "1/3, "
          "-1); exact, rounded to f64 and then to the output's dtype, so that neither order nor processes change a "
          "bit. Each "
          "may "
          "be cut, saved and named in its own way: LAYOUT is the layout of one that carries none, --layout that of all "
          "such. All must have the same parameters, in the same shapes; other elements must be equal. An optimizer's "
          "state is left out, unless --only takes it. Values that are no tensors are the first one's");
}

void declare_names(CommandLine& line, Verb verb, Options& to) {
  line.group("Names");
  line.repeated(
      "--rename", to.rename, "OLD=NEW",
      "give parameters other names, for example 'model.{x}={x}'; of several that match the first counts, but those "
      "that only take text out, such as '{a}_orig_mod.{b}={a}{b}', apply one after the other; may be repeated");
  line.value(
      "--names", to.names, "MAP[#SIDE]",
      std::string("a map of names, by which ") +
          (verb == Verb::verify ? "A's tensors are compared with B's" : "the output's tensors are made of SRC's") +
          ": a file, or one that comes with the programs, such as llama, qwen3_moe, gpt2; SIDE is " +
          (verb == Verb::verify ? "A's" : "SRC's") +
          ", which its names tell mostly. A layout's \"names\" say the same. Sizes come from config.json beside " +
          (verb == Verb::verify ? "A, B" : "SRC, or in the directory that --expect names"));
  line.repeated("--size", to.sizes, "NAME=N",
                "with --names: a size of the map, or a field of config.json, for example --size g=8");
  line.flag(
      "--allow-arithmetic", to.allow_arithmetic,
      "a map may recompute elements (\"times\", \"plus\"): in f32, each result rounded, so that the way back need not "
      "give the same bits; without it such a map is refused");
}

void declare_parameters(CommandLine& line, Verb verb, Options& to) {
  line.group("Parameters (each option may be repeated)");
  line.repeated("--only", to.only, "GLOB",
                "keep the parameters whose names match; with a map, hf:GLOB for names of its side hf");
  line.repeated("--drop", to.drop, "GLOB", "leave out the parameters whose names match");
  line.repeated("--first", to.first, "GLOB",
                "of parameters whose names match, the lowest card's copy counts, and the others may differ: buffers "
                "that each rank has of its own, for example --first '*.running_*'");
  if (verb == Verb::merge)
    line.flag("--master-weights", to.master_weights,
              "the whole model that DeepSpeed's ZeRO keeps in fp32: under its own names, each weight as the optimizer "
              "keeps it (fp32) "
              "where it does, tied weights too, frozen weights and buffers as they are; nothing else. With --cast f32 "
              "the tensors of zero_to_fp32");
  if (verb != Verb::verify) {
    line.repeated(
        "--cast", to.cast, "DTYPE[:GLOB]",
        "write floating-point parameters, or those whose names match, as f64, f32, f16 or bf16: rounded to the "
        "nearest; what is too large becomes infinite and is told of; of several that match the last decides. Of a "
        "quantised model, 8-bit floats and the scales, zero points and tables of codes stay as they are, and one that "
        "GLOB names is refused, unless DTYPE is followed by !: --cast 'bf16!:NAME'. "
        "--expect then compares no dtypes; for example --cast bf16 --cast 'f32:*.norm.*'");
  }
  line.value(
      "--dequantize,(--dequantise)", to.dequantize, "bf16|f16|f32",
      std::string(verb == Verb::verify ? "compare A's quantised weights as numbers with B's"
                                       : "write quantised weights as numbers") +
          ": fp8 (scales by block, channel or tensor), MXFP8, MXFP4, NVFP4, GPTQ, AWQ, bitsandbytes, known by "
          "their names, dtypes and config.json beside " +
          (verb == Verb::verify ? "A" : "SRC") +
          "; reckoned in f32 and rounded once. Codes and scales are left out: names and layouts mean the weights, "
          "q_proj.weight for q_proj.qweight" +
          (verb == Verb::merge ? ". With --like, config.json loses quantization_config" : ""));
}

void declare_comparison(CommandLine& line, Options& to) {
  line.group("Comparison");
  line.value(
      "--tolerance", to.tolerance, "REL[,ABS]",
      "floating-point elements agree when |a - b| <= REL * max(|a|, |b|) or |a - b| <= ABS (default 0), NaN agrees "
      "with NaN, infinity with itself, and dtypes may differ among f64, f32, f16 and bf16; without it "
      "all bytes must be the same. For casts to bf16 4e-3, to f16 5e-4,3e-8");
  line.value(
      "--fingerprints", to.fingerprints, "REPORT",
      "without B, where A came out of a pipe (ckpt merge -o -): the --report of the job that wrote it, which has "
      "its fingerprints");
  line.flag("--json", to.json, "JSON instead of a table");
}

void declare_output(CommandLine& line, Verb verb, Options& to) {
  line.group("Output");
  line.value("-o,--output", to.output, "PATH",
             std::string("the ") + (verb == Verb::merge ? "file" : "directory") +
                 " to write; refused if it exists, unless --force" +
                 (verb == Verb::merge ? "; with --shard-size, --format dcp or torch_dist a directory; - is standard "
                                        "output, which like a named pipe is written in order"
                                      : ""));
  std::string names;
  std::string endings;
  std::string about;
  for (const Format& format : formats()) {
    if (!format.is_written) continue;
    names.append(names.empty() ? "" : "|").append(format.name);
    if (&format != &formats().front() && format.index_name.empty())
      endings.append(endings.empty() ? "" : ", ").append(format.ending);
    if (!format.about.empty()) about.append("; ").append(format.name).append(": ").append(format.about);
  }
  line.value("--format", to.format, names,
             "the format of the output's files; default: as the ending of their names tells (" + endings +
                 "), else that of the source" + about);
  if (verb == Verb::merge)
    line.value(
        "--shard-size", to.shard_size, "SIZE",
        "a directory of several files that hold at most SIZE each (a larger parameter has one of its own), with an "
        "index, as transformers read them: model-00001-of-00007.safetensors, model.safetensors.index.json; "
        "safetensors unless --format says otherwise, for example --shard-size 5GB");
  if (verb == Verb::merge)
    line.value("--like", to.like, "HF_DIR",
               "a directory like that of a Hugging Face model: SRC's tensors under its names, by the map of names that "
               "its config.json asks for (--names says another), in its dtypes and its files, with copies of "
               "config.json, tokenizer and whatever else is no weight. Names, shapes and dtypes must be its, as with "
               "--expect. An optimizer's state is left out. Samples of its weights show whether elements are in their "
               "places: they correlate with those of an earlier step or the base model");
  if (verb == Verb::merge)
    line.repeated(
        "--unlike", to.unlike, "GLOB",
        "with --like: parameters whose elements need not be like HF_DIR's, as training began them anew; may be "
        "repeated");
  line.flag("--virtual", to.view,
            "HDF5 alone: write files that only show SRC's data (virtual datasets, by relative paths), at once and "
            "whatever its size; no data is read, so that copies are compared only where --replicas says so. SRC must "
            "stay as and where it is: plain readers of HDF5 show zeros for a file that is gone");
  line.flag("--crc", to.crc,
            "with --format mindspore: each file ends with its CRC, as those that MindSpore saves with crc_check=True; "
            "costs reading the output once");
  line.flag("--force", to.force, "replace an output that exists, and what a killed run left");
  line.flag("--resume", to.resume,
            "go on with the .partial output that a run of the same job left; data that is there is checked first. An "
            "output that this very job has completed is compared with SRC, and left as it is (status 0)");
  line.flag("--no-fsync", to.no_fsync, "don't wait for the disk before publishing");
  line.value(
      "--direct-io", to.direct_io, "auto|on|off",
      "write data past the page cache; auto: on ext4 and XFS, unless --no-fsync; off: what reads the output next "
      "may find it in memory; default: auto");
  line.value(
      "--reflink", to.reflink, "auto|off",
      "auto: where SRC and the output lie on one file system that can (XFS, Btrfs), the output shares SRC's blocks of "
      "data that stays together, as copies by cp do: they are on the disk once until either is changed, and neither "
      "sees changes of the other; off: blocks of its own; default: auto");
  line.flag(
      "--dry-run", to.dry_run,
      "resolve, check and plan, print what would be done as a table, write nothing (-o may be left out), except that a "
      "file without a name takes the output's room for a moment, to learn of quotas; with -v, what each rule decides");
  line.flag("--strict", to.strict, "a warning ends the job (status 1) before anything is published");
  line.value(
      "--report", to.report, "FILE",
      "write the run's facts as JSON, or why it failed (-: to standard output, where it stands in for the table of "
      "--dry-run)");
  line.value(
      "--trace", to.trace, "FILE",
      "write when each thread of each process read, checked, wrote and exchanged, in Chrome's trace format: open "
      "it at ui.perfetto.dev or chrome://tracing");
}

void declare_running(CommandLine& line, Verb verb, Options& to) {
  line.group("Running");
  line.value("--memory", to.memory, "SIZE",
             "staging memory of each process, for example 512MiB (the default) or 4G, as Slurm writes it; environment "
             "variable: CKPT_MEMORY");
  line.value("--threads", to.threads, "N",
             "threads of each process; default: its share of the cores, and two more on each node for output past the "
             "page cache; environment variable: CKPT_THREADS");
  line.value("--replicas", to.replicas, "trust|sample|full",
             "how far the cards' copies of one tensor are compared, and parameters that the layout says are equal; "
             "trust: files "
             "of several steps are taken, too; default: sample");
  if (verb != Verb::verify)
    line.value(
        "--verify", to.verify, "none|written|reread",
        "written: what is written has the fingerprints of what was read; reread: the storage gives it back, too; "
        "default: written");
  declare_alone(line, to.alone);
  line.value(
      "--wait-for", to.wait_for, "FILE[:DAY/PASS]",
      "start when FILE exists: the done-file of whoever writes SRC; or when it has a line for this day and pass");
  line.value("--wait-timeout", to.wait_timeout, "TIME",
             "give up after this time (90, 90s, 15m, 1h, 01:00:00), with status 75; default: wait for ever");
}

void declare_exchange(CommandLine& line, Options& to) {
  line.group("Several processes, and GPUs (NCCL)");
  line.value(
      "--exchange", to.exchange, "auto|direct|mpi|nccl",
      "how bytes get from reader to writer: direct, where every process sees every source file; mpi, where a file is "
      "seen by some; nccl, the same by way of GPUs (tested on one GPU, not yet on several); default: auto; environment "
      "variable: CKPT_EXCHANGE");
  line.value("--device-memory", to.device_memory, "SIZE",
             "with nccl: staging memory of each process on its GPU, at most; default: 2GiB; environment variable: "
             "CKPT_DEVICE_MEMORY");
  line.value(
      "--stall-timeout", to.stall_timeout, "TIME",
      "give up when nothing is heard from a process for this long (default: 50s; while MPI starts 60s at least), "
      "or, with nccl, when the GPUs make no progress (default: 120s); environment variable: CKPT_STALL_TIMEOUT");
}

void declare_reading(CommandLine& line, Options& to) {
  line.group("How files are read");
  declare_external(line, to.allow_external);
  declare_number_types(line, to.number_types);
}

void declare_leaves(CommandLine& line, Options& to) {
  line.group("Leaves: what torch's files hold besides tensors");
  line.value(
      "--leaves", to.leaves, "json|tree",
      "what of torch's files is no tensor, number or text, in HDF5 and safetensors: json, what JSON can say, the rest "
      "is told of and left out; tree, all of it, too, as opaque bytes that come back where torch's files are made of "
      "these; default: json");
}

void declare_models(CommandLine& line, Options& to) {
  line.value("--model", to.model, "OUT",
             "instead of SRC: the output directory of a job that notes each whole model in done-files there");
  line.value("--latest", to.latest, "checkpoint|base|chain|DAY/PASS",
             "which of OUT's: the last checkpoint (donefile.txt), the last base (base_donefile.txt or "
             "xbox_base_done.txt), that base with the deltas that carry its key (patch_donefile.txt or "
             "xbox_patch_done.txt), or the one named, for example 20190720/6, 20190721/base; with 20190720/delta-6 the "
             "chain up to it. Of the paths in done-files only day and pass are taken");
  line.value(
      "--done", to.done, "FILE",
      "when the output, which ends with DAY/PASS, stands: add a line to FILE, unless it has one for that day and "
      "pass. One job at a time may do so");
  line.repeated("--delta", to.delta, "DIR",
                "a checkpoint that was saved after SRC, with the rows that have changed since; may be repeated, oldest "
                "first. Of each key the newest row is taken, as a whole; keys that a delta says are deleted go. "
                "Parameters beside the tables come from the newest checkpoint that has them");
  line.value("--delta-layout", to.delta_layout, "A.json",
             "layout of the deltas; default: the one that each carries, else that of SRC");
}

void declare_tables(CommandLine& line, Verb verb, Options& to) {
  line.group("Streaming training: tables by key");
  declare_models(line, to);
  line.repeated(
      "--keep", to.keep, "TABLE:CONDITION",
      "of tables whose names match, the rows for which a condition of their fields holds: numbers, + - * /, < <= > "
      ">= "
      "== !=, and, or, not, parentheses, and words that the layout's \"filters\" explain; reckoned in f32 where the "
      "fields are; no comparison with NaN holds. NAME.x goes where NAME's rows go. Rows are chosen, no value is "
      "changed: decays and resets are the trainer's. For example --keep 'embedding: show - click >= 1.5 and "
      "unseen_days <= 16', or 'embedding: base'");
  if (verb == Verb::reshard || verb == Verb::split)
    line.value(
        "--digits", to.digits, "6|9",
        "of the numbers in Paddle's text, where it is made of other files: 6, as Paddle writes them, which rounds; 9, "
        "with which each f32 is read back as it was; default: 6");
}

[[noreturn]] void contradiction(const std::string& found, const std::string& expected) {
  throw Error(Kind::usage, "", {found, expected, ""});
}

/// split's --layout is the output's where nothing else says what the output is to be, as before there was --to; else it
/// is SRC's, as everywhere.
void place_layout_of_split(Options& options) {
  if (options.only_layout.empty()) return;
  const bool has_target = !options.target_layout.empty() || !options.to_mesh.empty() || !options.cards.empty();
  std::string& meant = has_target ? options.source_layout : options.target_layout;
  if (!meant.empty()) contradiction("--layout and --from are given", "one of them");
  meant = options.only_layout;
}

void check_targets(const Program& program, const CommandLine& line, const Options& options) {
  if (program.verb == Verb::merge || program.verb == Verb::verify) return;
  const auto given = [](const std::string& value) { return value.empty() ? 0 : 1; };
  const int count = given(options.target_layout) + given(options.to_mesh) + given(options.cards);
  const std::string expected = "one of --to, --to-mesh and --cards";
  if (count == 0) throw Error(Kind::usage, "", {"no target is given", expected, line.see_help()});
  if (count > 1) contradiction("more than one target is given", expected);
}

/// Throws usage for options that require a second checkpoint.
void check_comparison(const CommandLine& line, const Options& options) {
  if (!options.output.empty()) {
    if (!options.fingerprints.empty()) contradiction("--fingerprints and B are given", "one of them");
    return;
  }
  const auto refuse = [&](const std::string& option) {
    throw Error(Kind::usage, option, {"given without B", "two checkpoints to compare", line.see_help()});
  };
  if (!options.target_layout.empty()) refuse("--to");
  if (!options.tolerance.empty()) refuse("--tolerance");
  if (!options.only.empty()) refuse("--only");
  if (!options.drop.empty()) refuse("--drop");
  if (!options.rename.empty()) refuse("--rename");
  if (!options.names.empty()) refuse("--names");
  if (!options.average.empty()) refuse("--average");
  if (!options.dequantize.empty()) refuse("--dequantize");
}

/// Throws usage for options that require data to be written.
void check_view(const Options& options) {
  const auto refuse = [](const std::string& option, const std::string& found, const std::string& remedy) {
    throw Error(Kind::usage, option, {"given with --virtual, " + found, "one of them", remedy});
  };
  if (options.resume) refuse("--resume", "which has no data to go on with", "start anew with --force");
  if (!options.delta.empty()) refuse("--delta", "which shows the rows of one checkpoint", "leave out one of them");
  if (!options.keep.empty()) refuse("--keep", "which has no rows of its own", "leave out one of them");
  if (!options.cast.empty()) refuse("--cast", "which shows the source's elements as they are", "leave out one of them");
  if (!options.verify.empty() && options.verify != "none")
    refuse("--verify " + options.verify, "which writes no data that could be compared",
           "compare the two afterwards: ckpt verify SRC " + (options.output.empty() ? "DST" : options.output));
}

void check_output(const CommandLine& line, const Options& options) {
  if (options.view) check_view(options);
  if (options.output.empty() && options.dry_run) return;
  if (options.output.empty()) throw Error(Kind::usage, "-o PATH", {"missing", "where to write", line.see_help()});
}

/// Checks the options that replace SRC.
void check_model(const Options& options) {
  if (options.model.empty() != options.latest.empty())
    contradiction(options.model.empty() ? "--latest without --model" : "--model without --latest",
                  "--model OUT --latest checkpoint, base, chain or DAY/PASS");
  if (options.model.empty()) return;
  if (!options.source.empty()) contradiction("SRC and --model are given", "one of them");
  if (!options.delta.empty()) contradiction("--delta and --model are given", "one of them: chain has deltas");
}

/// --like stands for several options.
void check_like(const Options& options) {
  if (!options.expectation.reference.empty()) contradiction("--like and --expect are given", "one of them");
  if (!options.shard_size.empty()) contradiction("--like and --shard-size are given", "one of them");
  if (!options.format.empty() && options.format != "safetensors")
    contradiction("--like with --format " + options.format, "safetensors, which is what it writes");
}

void check_dequantize(const Options& options) {
  if (options.view)
    contradiction("--dequantize and --virtual are given", "one of them: what is shown keeps the source's elements");
  if (!options.delta.empty() || !options.model.empty())
    contradiction("--dequantize and deltas of tables are given", "one of them: merge the tables first");
}

void check_average(const Options& options) {
  const auto refuse = [](const std::string& option, const std::string& remedy) {
    throw Error(Kind::usage, option, {"given with --average", "one of them", remedy});
  };
  if (!options.source.empty())
    refuse("'" + options.source + "'",
           "name it as one of those that are averaged, with its weight: W=" + shell_word(options.source));
  if (options.view) refuse("--virtual", "write the data: an average is in none of the sources");
  if (!options.model.empty()) refuse("--model", "name the checkpoints themselves");
  if (!options.delta.empty()) refuse("--delta", "merge the deltas first: tables are not averaged");
  if (!options.keep.empty()) refuse("--keep", "leave it out: tables are not averaged");
  if (options.source_layout == "-") refuse("--layout -", "give the layout in a file");
}

/// Among the words of verify's --average, the last one may be B; so may one before it be.
void place_b(Options& options) {
  if (options.average.empty()) return;
  if (options.output.empty()) std::swap(options.source, options.output);
  if (!options.output.empty() || options.average.back().find('=') != std::string::npos) return;
  options.output = options.average.back();
  options.average.pop_back();
}

void check_uneven(const Options& options) {
  if (!options.uneven.empty() && options.to_mesh.empty() && options.cards.empty())
    contradiction("--uneven without --to-mesh or --cards", "one of them, or \"uneven\" in the layout of --to");
}

void check(const Program& program, const CommandLine& line, const Options& options) {
  const bool is_verify = program.verb == Verb::verify;
  check_model(options);
  check_uneven(options);
  if (!options.average.empty()) check_average(options);
  if (options.source.empty() && options.model.empty() && options.average.empty())
    throw Error(Kind::usage, is_verify ? "A" : "SRC", {"missing", "a checkpoint's path", line.see_help()});
  check_targets(program, line, options);
  if (is_verify)
    check_comparison(line, options);
  else
    check_output(line, options);
  if (!options.like.empty()) check_like(options);
  if (!options.unlike.empty() && options.like.empty()) contradiction("--unlike without --like", "--like HF_DIR too");
  if (!options.dequantize.empty()) check_dequantize(options);
  if (options.source_layout == "-" && options.target_layout == "-")
    contradiction("two layouts are to come from standard input", "at most one -");
  if (!options.delta_layout.empty() && options.delta.empty() && options.model.empty())
    contradiction("--delta-layout without --delta", "--delta DIR, or --model, too");
  if (!options.wait_timeout.empty() && options.wait_for.empty())
    contradiction("--wait-timeout without --wait-for", "--wait-for FILE too");
}

/// All words except the last occurrence of `word`.
std::vector<std::string> without(std::vector<std::string> words, const std::string& word) {
  const auto last = std::find(words.rbegin(), words.rend(), word);
  if (last != words.rend()) words.erase(std::next(last).base());
  return words;
}

void declare_options(CommandLine& line, Verb verb, Options& options) {
  const bool is_verify = verb == Verb::verify;
  line.positional(is_verify ? "A" : "SRC", options.source);
  if (is_verify) line.positional("B", options.output);
  declare_average(line, verb, options);
  declare_layouts(line, verb, options);
  if (is_verify) declare_comparison(line, options);
  if (!is_verify) declare_output(line, verb, options);
  declare_parameters(line, verb, options);
  declare_names(line, verb, options);
  declare_expectation(line, options.expectation,
                      is_verify ? "the parameters compared, of A and of B," : "what would be written");
  declare_running(line, verb, options);
  declare_exchange(line, options);
  declare_reading(line, options);
  if (!is_verify) declare_leaves(line, options);
  if (!is_verify) declare_tables(line, verb, options);
  declare_messages(line, options.messages);
  line.value("--progress", options.progress, "auto|bar|lines|none",
             "a bar, a line each 10 s, or nothing; default: auto, a bar on a terminal and lines elsewhere");
}

}  // namespace

std::vector<OptionText> options_of(const Program& program) {
  Options unused;
  CommandLine line(program.manual);
  declare_options(line, program.verb, unused);
  return line.options();
}

Options parse_options(const Program& program, const std::vector<std::string>& words) {
  Options options;
  CommandLine line(program.manual);
  declare_options(line, program.verb, options);
  if (const auto text = line.parse(words)) {
    options.asked_text = *text;
    return options;
  }
  place_layout_of_split(options);
  if (program.verb == Verb::verify) place_b(options);
  check(program, line, options);
  if (!options.like.empty()) options.expectation.reference = options.like;
  options.unshared = without(words, options.source);
  if (program.verb == Verb::verify) options.unshared = without(options.unshared, options.output);
  return options;
}

}  // namespace ckpt::cli
