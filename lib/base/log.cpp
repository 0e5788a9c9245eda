#include "base/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/printable.hpp"

namespace ckpt {

namespace {

/// %*: the message, printable and on one line.
class PrintableMessage final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/, spdlog::memory_buf_t& to) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    to.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PrintableMessage>(); }
};

/// Keeps the messages of one level, for reports.
class Told final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit Told(spdlog::level::level_enum kept) : kept_(kept) {}

  std::vector<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (message.level == kept_) texts_.emplace_back(message.payload.data(), message.payload.size());
  }
  void flush_() override {}

 private:
  spdlog::level::level_enum kept_;
  std::vector<std::string> texts_;
};

std::shared_ptr<Told>& warnings() {
  static auto sink = std::make_shared<Told>(spdlog::level::warn);
  return sink;
}

std::shared_ptr<Told>& errors() {
  static auto sink = std::make_shared<Told>(spdlog::level::err);
  return sink;
}

}  // namespace

void start_log(const std::string& program, const std::string& level) {
  const auto printed = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>(program, spdlog::sinks_init_list{printed, warnings(), errors()});
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableMessage>('*').set_pattern("%n: %l: %*");
  logger->set_formatter(std::move(formatter));
  printed->set_level(spdlog::level::from_str(level));
  logger->set_level(std::min(printed->level(), spdlog::level::warn));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

std::vector<std::string> told_warnings() {
  return warnings()->texts();
}

std::vector<std::string> told_errors() {
  return errors()->texts();
}

void mute_log() {
  spdlog::set_level(spdlog::level::off);
}

}  // namespace ckpt
