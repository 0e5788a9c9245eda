#include "cli/messages.hpp"

#include "base/error.hpp"
#include "base/log.hpp"

namespace ckpt::cli {

namespace {

std::string level_of(const MessageOptions& options) {
  if (options.quiet && options.verbose) throw Error(Kind::usage, "", {"-q and -v", "one of them at most", ""});
  if (options.log_level.empty()) return options.quiet ? "error" : options.verbose ? "debug" : "info";
  for (const char* level : {"trace", "debug", "info", "warn", "error", "off"}) {
    if (options.log_level == level) return level;
  }
  throw Error(Kind::usage, "--log-level",
              {"'" + options.log_level + "'", "one of trace, debug, info, warn, error, off", ""});
}

}  // namespace

void declare_messages(CommandLine& line, MessageOptions& to) {
  line.group("Messages (on standard error)");
  line.flag("-q,--quiet", to.quiet, "errors only, no progress");
  line.flag("-v,--verbose", to.verbose, "more detail");
  line.value("--log-level", to.log_level, "LEVEL", "trace, debug, info (the default), warn, error or off");
}

void start_messages(const Manual& manual, const MessageOptions& options, const Communicator& processes) {
  start_log(manual.name, level_of(options));
  if (processes.rank() != 0) mute_log();
}

}  // namespace ckpt::cli
