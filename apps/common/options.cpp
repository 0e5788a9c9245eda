#include "common/options.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ckpt::cli {

namespace {

void declare_layouts(CommandLine& line, Verb verb, Options& to) {
  line.group("Layouts (a file, or - for standard input)");
  const std::string carried = "; may be left out where the checkpoint carries it";
  if (verb == Verb::reshard) {
    line.value("--from", to.source_layout, "A.json", "layout of SRC" + carried);
    line.value("--to", to.target_layout, "B.json", "layout of the output");
    line.value(
        "--to-mesh", to.to_mesh, "AXIS=N,...",
        "instead of --to: SRC's own rules on another mesh, for example dp=7,tp=8; axes not named keep their size");
    line.value("--cards", to.cards, "N", "instead of --to: SRC's own rules on N cards, for a mesh of one axis");
  } else if (verb == Verb::merge) {
    line.value("--layout", to.source_layout, "A.json", "layout of SRC" + carried);
  } else {
    line.value("--layout", to.target_layout, "B.json", "layout of the output");
  }
}

void declare_parameters(CommandLine& line, Options& to) {
  line.group("Parameters (each option may be repeated)");
  line.repeated("--only", to.only, "GLOB", "keep the parameters whose names match");
  line.repeated("--drop", to.drop, "GLOB", "leave out the parameters whose names match");
  line.repeated("--rename", to.rename, "OLD=NEW", "give parameters other names, for example 'model.{x}={x}'");
}

void declare_output(CommandLine& line, Verb verb, Options& to) {
  line.group("Output");
  line.value("-o,--output", to.output, "PATH",
             std::string("the ") + (verb == Verb::merge ? "file" : "directory") +
                 " to write; refused if it exists, unless --force");
  line.flag("--force", to.force, "replace an output that exists, and what a killed run left");
  line.flag("--resume", to.resume,
            "go on with the .partial output that a run of the same job left; data that is there is checked first");
  line.flag("--no-fsync", to.no_fsync, "don't wait for the disk before publishing");
  line.flag(
      "--dry-run", to.dry_run,
      "resolve, check and plan, print what would be done as a table, write nothing; with -v, what each rule decides");
  line.value("--report", to.report, "FILE",
             "write the run's facts as JSON (-: to standard output, where it stands in for the table of --dry-run)");
}

void declare_running(CommandLine& line, Options& to) {
  line.group("Running");
  line.value(
      "--exchange", to.exchange, "auto|direct|mpi",
      "how bytes get from reader to writer: direct, where every process sees every source file; mpi, where a file is "
      "seen by some; default: auto; environment variable: CKPT_EXCHANGE");
  line.value(
      "--memory", to.memory, "SIZE",
      "staging memory of each process, for example 512MiB (the default) or 2GB; environment variable: CKPT_MEMORY");
  line.value("--threads", to.threads, "N",
             "threads of each process; default: its share of the cores; environment variable: CKPT_THREADS");
  line.value("--replicas", to.replicas, "trust|sample|full",
             "how far the cards' copies of one tensor are compared; default: sample");
  line.value("--verify", to.verify, "none|written|reread",
             "written: what is written has the fingerprints of what was read; reread: the storage gives it back, too; "
             "default: written");
  line.value("--wait-for", to.wait_for, "FILE", "start when FILE exists: the done-file of whoever writes SRC");
  line.value("--wait-timeout", to.wait_timeout, "S", "give up after S seconds; default: wait for ever");
}

[[noreturn]] void contradiction(const std::string& found, const std::string& expected) {
  throw Error(Kind::usage, "", {found, expected, ""});
}

void check_targets(const Program& program, const CommandLine& line, const Options& options) {
  if (program.verb == Verb::merge) return;
  if (program.verb == Verb::split) {
    if (options.target_layout.empty())
      throw Error(Kind::usage, "--layout B.json", {"missing", "expected the layout of the output", line.see_help()});
    return;
  }
  const auto given = [](const std::string& value) { return value.empty() ? 0 : 1; };
  const int count = given(options.target_layout) + given(options.to_mesh) + given(options.cards);
  const std::string expected = "expected one of --to, --to-mesh and --cards";
  if (count == 0) throw Error(Kind::usage, "", {"no target is given", expected, line.see_help()});
  if (count > 1) contradiction("more than one target is given", expected);
}

void check(const Program& program, const CommandLine& line, const Options& options) {
  if (options.source.empty())
    throw Error(Kind::usage, "SRC", {"missing", "expected a checkpoint's path", line.see_help()});
  check_targets(program, line, options);
  if (options.output.empty())
    throw Error(Kind::usage, "-o PATH", {"missing", "expected where to write", line.see_help()});
  if (options.output == "-")
    throw Error(Kind::usage, "-o -", {"HDF5 cannot be written to a pipe", "expected a path", ""});
  if (options.source_layout == "-" && options.target_layout == "-")
    contradiction("two layouts are to come from standard input", "expected at most one -");
  if (!options.wait_timeout.empty() && options.wait_for.empty())
    contradiction("--wait-timeout without --wait-for", "expected --wait-for FILE too");
}

/// All words but the one that is SRC.
std::vector<std::string> without_source(std::vector<std::string> words, const std::string& source) {
  const auto last = std::find(words.rbegin(), words.rend(), source);
  if (last != words.rend()) words.erase(std::next(last).base());
  return words;
}

}  // namespace

Options parse_options(const Program& program, const std::vector<std::string>& words) {
  Options options;
  CommandLine line(program.manual);
  line.positional("SRC", options.source);
  declare_layouts(line, program.verb, options);
  declare_parameters(line, options);
  declare_output(line, program.verb, options);
  declare_running(line, options);
  declare_messages(line, options.messages);
  line.value("--progress", options.progress, "auto|bar|lines|none",
             "a bar, a line each 10 s, or nothing; default: auto, a bar on a terminal and lines elsewhere");
  if (const auto text = line.parse(words)) {
    options.asked_text = *text;
    return options;
  }
  check(program, line, options);
  options.unshared = without_source(words, options.source);
  return options;
}

}  // namespace ckpt::cli
