#include "cli/expect_options.hpp"

#include "base/error.hpp"

namespace ckpt::cli {

void declare_expectation(CommandLine& line, ExpectOptions& to, const std::string& what) {
  line.group("Expectation");
  line.value("--expect", to.reference, "REF",
             what +
                 " must have the names, logical shapes and dtypes of REF: any checkpoint (a file, or a directory that "
                 "carries its layout), a safetensors index, or JSON {name: {\"shape\": [2, 3], \"dtype\": \"bf16\"}}");
  line.repeated("--expect-missing", to.missing, "GLOB", "names of REF that may be missing; may be repeated");
  line.repeated("--expect-extra", to.extra, "GLOB", "names that REF need not have; may be repeated");
}

std::optional<Expectation> parse_expectation(const ExpectOptions& options) {
  if (options.reference.empty()) {
    for (const auto& [option, globs] :
         {std::pair{"--expect-missing", &options.missing}, std::pair{"--expect-extra", &options.extra}})
      if (!globs->empty()) throw Error(Kind::usage, option, {"given without --expect", "--expect REF too", ""});
    return std::nullopt;
  }
  return Expectation{
      options.reference,
      {parse_globs("--expect-missing", options.missing), parse_globs("--expect-extra", options.extra), false}};
}

std::vector<Pattern> parse_globs(const std::string& option, const std::vector<std::string>& texts) {
  std::vector<Pattern> patterns;
  patterns.reserve(texts.size());
  for (const auto& text : texts)
    patterns.push_back(with_context(option + " '" + text + "'", [&] { return Pattern(text); }));
  return patterns;
}

}  // namespace ckpt::cli
