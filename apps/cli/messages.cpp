#include "cli/messages.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace ckpt::cli {

namespace {

log::Level level_of(const MessageOptions& options) {
  if (options.quiet && options.verbose) throw Error(Kind::usage, "", {"-q and -v", "one of them at most", ""});
  if (options.log_level.empty())
    return options.quiet ? log::Level::error : options.verbose ? log::Level::debug : log::Level::info;
  for (const auto& [name, level] : {std::pair{"trace", log::Level::debug},  // there is nothing below debug
                                    {"debug", log::Level::debug},
                                    {"info", log::Level::info},
                                    {"warn", log::Level::warning},
                                    {"error", log::Level::error},
                                    {"off", log::Level::off}}) {
    if (options.log_level == name) return level;
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
  log::start(manual.name, level_of(options));
  if (processes.rank() != 0) log::mute();
}

}  // namespace ckpt::cli
