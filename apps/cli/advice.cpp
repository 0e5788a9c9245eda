#include "cli/advice.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/shell_word.hpp"
#include "base/utf8.hpp"
#include "layout/names/literal.hpp"

namespace ckpt::cli {

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// An option for each of the lines: "--rename 'a' --rename 'b'".
std::string options_of(const std::string& option, const std::string& lines) {
  std::string options;
  for (const std::string& line : lines_of(lines)) options += (options.empty() ? "" : " ") + option + " '" + line + "'";
  return options;
}

/// What an advice refers to, besides its detail.
struct Subject {
  std::string parameter = {};       ///< the error's; empty: not known
  std::string layout = "--layout";  ///< the option for SRC's layout
};

/// `detail`: a strategy's path; a second line, if any, is what the layout has to say.
std::string print_layout_of(const std::string& detail, const std::string& layout) {
  const std::size_t end = detail.find('\n');
  return "print the layout with ckpt inspect --as-layout " + shell_word(detail.substr(0, end)) +
         " > layout.json, say " + detail.substr(end + 1) + " in it, and give it with " + layout + " layout.json";
}

/// A pattern that matches this name alone, as one types it; nothing if one cannot: with `?` for a character, it could
/// match another name.
std::optional<std::string> typed(const std::string& name) {
  for (std::size_t at = 0; at < name.size();) {
    const Character character = character_at(name, at);
    if (character.code < 0x20 || character.code == 0x7f || character.is_stray_byte()) return std::nullopt;
    at += character.bytes;
  }
  return shell_word(literal(name));
}

/// "it out with --drop w": the names in `detail`, a line each, or the error's parameter. NAME stands for one that is
/// not known here, GLOB for what is not told, or cannot be typed.
std::string leave_out(const std::string& detail, const std::string& parameter) {
  if (detail.empty() && parameter.empty()) return "it out with --drop NAME";
  const std::vector<std::string> names = detail.empty() ? std::vector{parameter} : lines_of(detail);
  const std::string lead = std::string(names.size() > 1 ? "them" : "it") + " out with";
  std::string options;
  for (const std::string& name : names) {
    const auto pattern = name.empty() ? std::nullopt : typed(name);
    if (!pattern) return lead + " --drop GLOB";
    options += " --drop " + *pattern;
  }
  return lead + options;
}

/// The first rule that matches renames, so that a new one stands before those that there are.
std::string rename(const std::string& name) {
  const auto pattern = name.empty() ? std::nullopt : typed(name);
  const std::string option = "--rename " + pattern.value_or("OLD") + "=NEW";
  return "give another name with " + option + (name.empty() ? "" : " before any other");
}

std::string in_words(const Advice& advice, const Subject& subject) {
  using What = Advice::What;
  switch (advice.what) {
    case What::none:
      return "";
    case What::replace_output:
      return "choose another output; if this is a checkpoint, --force replaces it";
    case What::resume_or_restart:
      return "go on with --resume, or start anew with --force";
    case What::restart:
      return "start anew with --force instead of --resume, or delete what that job left";
    case What::give_layout:
      return "give its layout with " + subject.layout;
    case What::draft_layout:
      return "give its layout with " + subject.layout + "; where there is none, have one drafted: ckpt draft " +
             shell_word(advice.detail) + " > layout.json";
    case What::print_layout:
      return print_layout_of(advice.detail, subject.layout);
    case What::wait_for_writer:
      return "wait until the job that saves it is done (see --wait-for)";
    case What::compare_two:
      return "compare it with another checkpoint: ckpt verify A B";
    case What::fewer_threads:
      return "lower --threads";
    case What::less_memory:
      return "lower --memory or --threads";
    case What::less_device_memory:
      return "lower --device-memory";
    case What::more_memory:
      return advice.detail.empty() ? "raise --memory" : "give --memory " + advice.detail;
    case What::trust_replicas:
      return "take one unchecked with --replicas trust";
    case What::mix_steps:
      return "mix the steps on purpose with --replicas trust";
    case What::leave_out:
      return "leave " + leave_out(advice.detail, subject.parameter);
    case What::choose_others:
      return "see the names with ckpt inspect, and what --only and --drop say";
    case What::rename:
      return rename(advice.detail);
    case What::rename_all:
      return "rename them: " + options_of("--rename", advice.detail);
    case What::rename_or_leave_out:
      return "give it another name with --rename OLD=NEW, or leave " + leave_out(advice.detail, subject.parameter);
    case What::say_uneven:
      return "give --uneven ceil or --uneven balanced";
    case What::say_axes:
      return "use for example --to-mesh " + advice.detail;
    case What::other_exchange:
      return "use --exchange " + advice.detail;
    case What::excuse_by_name:
      return "excuse what is meant to differ with --expect-missing or --expect-extra";
    case What::allow_arithmetic:
      return "allow it with --allow-arithmetic";
    case What::excuse_unlike:
      return "where training began it anew, excuse it with " + options_of("--unlike", advice.detail);
    case What::give_tensors:
      return "give them with --expect";
    case What::give_mesh:
      return "give the mesh of the job that saved it with --mesh";
    case What::allow_external:
      return "if you trust it, allow it with --allow-external " + advice.detail;
    case What::write_data:
      return "write its data, without --virtual";
    case What::say_unfused:
      return "give the whole tensors with --expect, or name those that are not fused with --unfused";
    case What::accept_warnings:
      return "see what they say, or leave out --strict";
    case What::more_patience:
      return "raise --stall-timeout where it takes longer";
    case What::go_alone:
      return "where " + advice.detail + ", give --alone or set CKPT_ALONE=1";
  }
  return "";
}

/// The advice in words, as a continuation of the remedy.
std::string after_remedy(const Error& error, const std::string& layout) {
  const Subject subject{error.parameter(), layout};
  const bool has_next = error.next_advice().what != Advice::What::none;
  std::string advice = in_words(error.text().advice, subject);
  if (advice.empty()) return "";
  if (has_next) advice += "; then " + in_words(error.next_advice(), subject);
  const std::string& remedy = error.text().remedy;
  if (remedy.empty()) return advice;
  // First says what is left of the run, then how to proceed.
  const Advice& last = has_next ? error.next_advice() : error.text().advice;
  if (last.what == Advice::What::resume_or_restart) return ": " + advice;
  return (remedy.ends_with('?') ? " Else " : ", or ") + advice;
}

std::string with_advice(const Error& error, const std::string& layout) {
  const std::string advice = after_remedy(error, layout);
  const bool begins = error.text().remedy.empty() && !advice.empty();
  return error.what() + ((begins ? "; " : "") + advice);
}

/// Whether a program has options for an advice. inspect and draft write nothing, so they lack options about output.
bool is_followed_by(const Manual& program, const Advice& advice) {
  using What = Advice::What;
  constexpr std::array of_inspect{What::give_layout,    What::draft_layout,   What::print_layout,
                                  What::compare_two,    What::give_tensors,   What::give_mesh,
                                  What::excuse_by_name, What::allow_external, What::go_alone};
  const bool writes = program.verb != "inspect" && program.verb != "draft";
  return writes || std::find(of_inspect.begin(), of_inspect.end(), advice.what) != of_inspect.end();
}

}  // namespace

std::string words(const Advice& advice) {
  return in_words(advice, {});
}

std::string remedy(const Error& error) {
  return error.text().remedy + after_remedy(error, Subject().layout);
}

std::string message(const Error& error, const Manual& program) {
  if (!is_followed_by(program, error.text().advice)) return error.what();
  // Without --to split's --layout is that of the output.
  return with_advice(error, program.verb == "split" ? "--layout beside --to" : Subject().layout);
}

std::string message(const Error& error) {
  return with_advice(error, Subject().layout);
}

}  // namespace ckpt::cli
