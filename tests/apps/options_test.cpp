#include "cli/options.hpp"

#include "catch.hpp"
#include "fixtures.hpp"

using namespace ckpt;
using namespace ckpt::cli;
using Catch::Matchers::Contains;

namespace {

using Words = std::vector<std::string>;

std::string refusal(Verb verb, const Words& words) {
  const auto error = caught([&] { parse_options(program(verb), words); });
  CHECK(error.kind == Kind::usage);
  return error.message;
}

}  // namespace

TEST_CASE("every option of ckpt-reshard is taken as written") {
  const auto options =
      parse_options(program(Verb::reshard),
                    {"--from",         "a.json",     "--to",      "b.json",   "src",        "-o",          "dst",
                     "--only",         "a*",         "--only",    "b*",       "--drop",     "c",           "--rename",
                     "{x}=y.{x}",      "--exchange", "mpi",       "--memory", "1GiB",       "--threads",   "3",
                     "--replicas",     "full",       "--dry-run", "--force",  "--no-fsync", "--wait-for",  "done",
                     "--wait-timeout", "7",          "--report",  "r.json",   "-v",         "--log-level", "trace",
                     "--progress",     "lines"});
  CHECK(options.source_layout == "a.json");
  CHECK(options.target_layout == "b.json");
  CHECK(options.source == "src");
  CHECK(options.output == "dst");
  CHECK(options.only == Words{"a*", "b*"});
  CHECK(options.drop == Words{"c"});
  CHECK(options.rename == Words{"{x}=y.{x}"});
  CHECK(options.exchange == "mpi");
  CHECK(options.memory == "1GiB");
  CHECK(options.threads == "3");
  CHECK(options.replicas == "full");
  CHECK(options.dry_run);
  CHECK(options.force);
  CHECK(options.no_fsync);
  CHECK(options.wait_for == "done");
  CHECK(options.wait_timeout == "7");
  CHECK(options.report == "r.json");
  CHECK(options.messages.verbose);
  CHECK_FALSE(options.messages.quiet);
  CHECK(options.messages.log_level == "trace");
  CHECK(options.progress == "lines");
}

TEST_CASE("option --layout is the source's, whatever the verb, and --to the output's") {
  CHECK(parse_options(program(Verb::merge), {"--layout", "a", "s", "-o", "m"}).source_layout == "a");
  CHECK(parse_options(program(Verb::verify), {"--layout", "a", "s"}).source_layout == "a");
  const auto reshard = parse_options(program(Verb::reshard), {"--layout", "a", "--to", "b", "s", "-o", "d"});
  CHECK((reshard.source_layout == "a" && reshard.target_layout == "b"));
  const auto verify = parse_options(program(Verb::verify), {"--layout", "a", "--to=b", "s", "t"});
  CHECK((verify.source_layout == "a" && verify.target_layout == "b"));
  const auto split = parse_options(program(Verb::split), {"--layout", "a", "--to", "b", "s", "-o", "d"});
  CHECK((split.source_layout == "a" && split.target_layout == "b"));
}

TEST_CASE("older spellings of --layout are taken") {
  CHECK(parse_options(program(Verb::merge), {"--from", "a", "s", "-o", "m"}).source_layout == "a");
  CHECK(parse_options(program(Verb::verify), {"--from", "a", "s"}).source_layout == "a");
  CHECK(parse_options(program(Verb::reshard), {"--from", "a", "--cards", "2", "s", "-o", "d"}).source_layout == "a");
  CHECK(parse_options(program(Verb::split), {"--layout=b", "s", "-o", "d"}).target_layout == "b");
  const auto split = parse_options(program(Verb::split), {"--from", "a", "--layout", "b", "s", "-o", "d"});
  CHECK((split.source_layout == "a" && split.target_layout == "b"));
  CHECK_THAT(refusal(Verb::merge, {"--layout", "a", "--from", "b", "s", "-o", "m"}), Contains("--layout"));
  CHECK_THAT(refusal(Verb::split, {"--layout", "a", "--from", "b", "--to", "c", "s", "-o", "d"}),
             Contains("--layout and --from are given"));
  CHECK_THAT(refusal(Verb::split, {"--from", "a", "s", "-o", "d"}), Contains("no target is given"));
}

TEST_CASE("a dry run needs no output") {
  CHECK(parse_options(program(Verb::merge), {"--dry-run", "s"}).output.empty());
  CHECK_THAT(refusal(Verb::merge, {"s"}), Contains("-o PATH: missing"));
}

TEST_CASE("a repeatable option takes one value at a time and leaves brackets alone") {
  const auto options = parse_options(program(Verb::merge), {"--only", "[ab]", "src", "--drop", "[x]*[y]", "-o", "m"});
  CHECK(options.only == Words{"[ab]"});
  CHECK(options.drop == Words{"[x]*[y]"});
  CHECK(options.source == "src");
}

TEST_CASE("option --average takes all words up to the next option, negative weights among them") {
  const Words words{"1=a", "-0.5=b", "1/3=c"};
  const auto merge = parse_options(program(Verb::merge), {"--average", "1=a", "-0.5=b", "1/3=c", "-o", "m"});
  CHECK((merge.average == words && merge.source.empty() && merge.output == "m"));
  for (const Words& line : {Words{"B", "--average", "1=a", "-0.5=b", "1/3=c"},
                            {"--average", "1=a", "-0.5=b", "1/3=c", "B"},
                            {"--average", "1=a", "-0.5=b", "--average", "1/3=c", "--json", "B"}}) {
    const auto verify = parse_options(program(Verb::verify), line);
    CHECK((verify.average == words && verify.source.empty() && verify.output == "B"));
  }
  CHECK_THAT(refusal(Verb::merge, {"a", "--average", "1=b", "-o", "m"}), Contains("W=a"));
  CHECK_THAT(refusal(Verb::merge, {"--average", "1=b", "--virtual", "-o", "m"}), Contains("--virtual"));
  CHECK_THAT(refusal(Verb::verify, {"--average", "1=b"}), Contains("--average"));
}

TEST_CASE("a lone dash is a value") {
  CHECK(parse_options(program(Verb::merge), {"--layout", "-", "s", "-o", "m", "--report", "-"}).source_layout == "-");
}

TEST_CASE("the words that processes must share are all but SRC") {
  const auto options = parse_options(program(Verb::merge), {"-o", "m", "/disk0/src", "--threads", "2"});
  CHECK(options.unshared == Words{"-o", "m", "--threads", "2"});
}

TEST_CASE("help and version come before anything that is wrong with the rest") {
  const auto help = parse_options(program(Verb::merge), {"--help", "--no-such"}).asked_text;
  CHECK_THAT(help, Contains("Usage: ckpt-merge SRC -o DST"));
  CHECK_THAT(help, Contains("  -o, --output PATH"));
  CHECK_THAT(help, Contains("CKPT_MEMORY"));
  CHECK_THAT(help, Contains("CKPT_THREADS"));
  CHECK_THAT(help, Contains("CKPT_EXCHANGE"));
  CHECK_THAT(help, Contains("Examples:\n  Do it:\n    do it\n"));
  CHECK(help.find("Examples:") < help.find("Output:"));
  CHECK(parse_options(program(Verb::split), {"--version"}).asked_text == "ckpt-split " CKPT_VERSION "\n");
}

TEST_CASE("the short help has the usual options, a line each, and says where the others are") {
  auto merge = program(Verb::merge);
  merge.manual.usual = {"--memory", "--layout"};
  const auto help = parse_options(merge, {"-h"}).asked_text;
  CHECK_THAT(help, Contains("      --memory SIZE           staging memory of each process\n"));
  CHECK_THAT(help, Contains("      --layout A.json         layout of SRC\n"));
  CHECK(help.find("--cast") == std::string::npos);
  CHECK_THAT(help, Contains("options, by topic: ckpt-merge --help"));
}

TEST_CASE("an option's older names are taken, but not shown") {
  std::string value;
  Manual manual;
  manual.name = "ckpt-test";
  CommandLine line(manual);
  line.value("--new,(--old)", value, "a|b|FILE", "what it is: more; and more");
  CHECK_FALSE(line.parse({"--old", "x"}).has_value());
  CHECK(value == "x");
  const OptionText& option = line.options().front();
  CHECK(option.spelling() == "--new a|b|FILE");
  CHECK(option.in_short() == "what it is");
  CHECK(option.choices() == Words{"a", "b"});
  CHECK_THAT(caught([&] { CommandLine(manual).parse({"--olt"}); }).message, !Contains("--old"));
}

TEST_CASE("what a command line lacks or has too much of is named") {
  CHECK_THAT(refusal(Verb::merge, {}), Contains("SRC: missing"));
  CHECK_THAT(refusal(Verb::merge, {"s"}), Contains("-o PATH: missing"));
  CHECK_THAT(refusal(Verb::merge, {"s", "t", "-o", "m"}), Contains("'t': one argument too many"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o"}), Contains("-o: no value, expected one"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "m", "-o", "n"}), Contains("--output"));
  CHECK_THAT(refusal(Verb::split, {"s", "-o", "d"}), Contains("no target is given"));
  CHECK_THAT(refusal(Verb::reshard, {"s", "-o", "d"}), Contains("no target is given"));
  CHECK_THAT(refusal(Verb::reshard, {"s", "-o", "d", "--to", "b", "--cards", "3"}), Contains("more than one target"));
  CHECK_THAT(refusal(Verb::reshard, {"s", "-o", "d", "--from", "-", "--to", "-"}), Contains("standard input"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "m", "--wait-timeout", "3"}), Contains("--wait-for"));
}

TEST_CASE("an unknown option is answered with the nearest one, where one is near") {
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "m", "--memmory", "1GiB"}),
             Contains("--memmory: unknown option; did you mean --memory? see ckpt-merge --help"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "m", "--xyz"}), Contains("--xyz: unknown option; see ckpt-merge --help"));
}

TEST_CASE("a program has no option of another") {
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "m", "--to", "b"}), Contains("--to: unknown option"));
  CHECK_THAT(refusal(Verb::split, {"s", "-o", "d", "--layout", "b", "--shard-size", "4GB"}),
             Contains("--shard-size: unknown option"));
  CHECK_THAT(refusal(Verb::merge, {"s", "-o", "m", "--cards", "4"}), Contains("--cards: unknown option"));
}
