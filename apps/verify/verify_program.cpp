#include "verify/verify_program.hpp"

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "cli/external.hpp"
#include "cli/number_types.hpp"
#include "cli/setup.hpp"
#include "jobs/check.hpp"
#include "jobs/compare.hpp"
#include "jobs/value_memory.hpp"
#include "report/output.hpp"
#include "store/value_memory.hpp"
#include "verify/render.hpp"

namespace ckpt::cli {

namespace {

constexpr int different = 1;
constexpr int trouble = 2;

/// Runs a job and shows its progress.
template <class Run, class AnyJob>
auto shown(const Options& options, const Setup& setup, const Run& run, const AnyJob& job, Communicator& processes) {
  Stores stores(formats(), value_memory(job.resources));
  allow_external(options.allow_external, stores);
  read_number_types(options.number_types, stores.numbers());
  Counters counters;
  processes.set_patience(job.resources.patience);
  const Progress progress(counters, setup.progress, processes);
  auto result = run(job, stores, processes, counters);
  warn_of_unused_types(options.number_types, stores.numbers(), processes);
  return result;
}

int run_integrity(const Options& options, const Setup& setup, Communicator& processes) {
  const Integrity integrity = shown(options, setup, check_integrity, std::get<CheckJob>(setup.job), processes);
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    print(options.json ? Lines::as_they_are(integrity_json(options.source, integrity))
                       : integrity_text(options.source, integrity, output_width()));
  });
  return integrity.damages.empty() && integrity.deviations.lines.empty() ? 0 : different;
}

/// Advice about a layout is meant for A; B's layout has another option.
[[noreturn]] void rethrow_for_b(const Error& error, const std::string& b) {
  Error::Text text = error.text();
  const bool may_draft = text.advice.what == Advice::What::draft_layout;
  if (!error.object().starts_with(b) || (text.advice.what != Advice::What::give_layout && !may_draft)) throw;
  text.advice = {};
  text.remedy += (text.remedy.empty() ? "" : ", or ") + std::string("give its layout with --to");
  if (may_draft)
    text.remedy += "; where there is none, have one drafted: ckpt draft " + shell_word(b) + " > layout.json";
  throw Error(error.kind(), error.object(), std::move(text));
}

CompareReport compared(const Options& options, const Setup& setup, Communicator& processes) {
  try {
    return shown(options, setup, compare, std::get<CompareJob>(setup.job), processes);
  } catch (const Error& error) {
    rethrow_for_b(error, options.output);
  }
}

int run_comparison(const Options& options, const Setup& setup, Communicator& processes) {
  const auto& job = std::get<CompareJob>(setup.job);
  const CompareReport comparison = compared(options, setup, processes);
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    std::string a = options.source;
    for (const std::string& each : options.average) a += (a.empty() ? "" : " + ") + each;
    const ComparedPaths paths{a, options.output};
    print(options.json ? Lines::as_they_are(comparison_json(paths, comparison, job.tolerance))
                       : comparison_text(paths, comparison, output_width()));
  });
  return comparison.is_same() ? 0 : different;
}

}  // namespace

int run_verify_program(const Program& program, const std::vector<std::string>& words) {
  const auto body = [](const Options& options, const Setup& setup, Communicator& processes) {
    return options.output.empty() ? run_integrity(options, setup, processes)
                                  : run_comparison(options, setup, processes);
  };
  return run_program(program, words, body, trouble);
}

}  // namespace ckpt::cli
