#include "verify/verify_program.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

#include "common/output.hpp"
#include "common/setup.hpp"
#include "engine/compare.hpp"
#include "engine/integrity.hpp"
#include "verify/render.hpp"

namespace ckpt::cli {

namespace {

constexpr int different = 1;
constexpr int trouble = 2;

double parse_bound(std::string_view text, const std::string& whole) {
  double bound = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, bound);
  if (status != std::errc{} || rest != end || !std::isfinite(bound) || bound < 0)
    throw Error(Kind::usage, "--tolerance",
                {"'" + whole + "'", "expected REL or REL,ABS", "write for example 1e-2, or 5e-4,3e-8"});
  return bound;
}

/// `work` with its progress to be seen.
template <class Work>
auto shown(const Setup& setup, const Work& work) {
  Counters counters;
  const Progress progress(counters, setup.progress);
  return work(counters);
}

int run_integrity(const Options& options, const Setup& setup, Communicator& processes) {
  const Integrity integrity =
      shown(setup, [&](Counters& counters) { return check_integrity(setup.job, processes, counters); });
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    print(options.json ? Lines::as_they_are(integrity_json(options.source, integrity))
                       : integrity_text(options.source, integrity, output_width()));
  });
  return integrity.damages.empty() ? 0 : different;
}

int run_comparison(const Options& options, const Setup& setup, Communicator& processes) {
  std::optional<Tolerance> tolerance;
  agree(processes, [&] {
    if (!options.tolerance.empty()) tolerance = parse_tolerance(options.tolerance);
  });
  const CompareReport comparison =
      shown(setup, [&](Counters& counters) { return compare(setup.job, tolerance, processes, counters); });
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    const ComparedPaths paths{options.source, options.output};
    print(options.json ? Lines::as_they_are(comparison_json(paths, comparison, tolerance))
                       : comparison_text(paths, comparison, output_width()));
  });
  return comparison.differences.empty() ? 0 : different;
}

}  // namespace

Tolerance parse_tolerance(const std::string& text) {
  const std::size_t comma = text.find(',');
  Tolerance tolerance{parse_bound(std::string_view(text).substr(0, comma), text), 0};
  if (comma != std::string::npos) tolerance.absolute = parse_bound(std::string_view(text).substr(comma + 1), text);
  return tolerance;
}

int run_verify_program(const Program& program, int argc, char** argv) {
  const auto body = [](const Options& options, const Setup& setup, Communicator& processes) {
    return options.output.empty() ? run_integrity(options, setup, processes)
                                  : run_comparison(options, setup, processes);
  };
  return run_program(program, argc, argv, body, trouble);
}

}  // namespace ckpt::cli
