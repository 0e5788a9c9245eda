#include "output/lock_token.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/host_name.hpp"

namespace ckpt {

namespace {

constexpr int fields_before_start = 19;  // in /proc/PID/stat, behind the name and the state

std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Identifies the boot of the machine and the namespace that give this process its number; empty if unknown.
std::string number_space() {
  std::string boot = text_of("/proc/sys/kernel/random/boot_id");
  while (!boot.empty() && boot.back() == '\n') boot.pop_back();
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return boot.empty() || error ? "" : boot + " " + space.string();
}

/// When a process started, in ticks since the machine did; empty if there is no such process.
std::string start_of(const std::string& process) {
  const std::string stat = text_of("/proc/" + process + "/stat");
  std::size_t at = stat.rfind(") ");  // the name may contain anything, and ends here
  if (at == std::string::npos) return "";
  at += 2;
  if (stat[at] == 'Z' || stat[at] == 'X') return "";  // a process that has ended, but was not waited for yet
  for (int field = 0; field < fields_before_start && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  return at == std::string::npos ? "" : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

std::string now() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm fields{};
  std::array<char, 32> text{};
  ::gmtime_r(&seconds, &fields);
  return {text.data(), std::strftime(text.data(), text.size(), "%FT%TZ", &fields)};
}

std::optional<nlohmann::ordered_json> parsed(const std::string& line) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(line, nullptr, false);
  if (!json.is_object() || json.value("ckpt_lock", nlohmann::ordered_json()) != 1) return std::nullopt;
  for (const char* key : {"host", "process", "since", "started", "numbers", "id"})
    if (!json.contains(key) || !json[key].is_string()) return std::nullopt;
  return json;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Whether the process of one line lives; nothing if unknown.
std::optional<bool> lives(const std::string& line) {
  const auto json = parsed(line);
  const std::string numbers = number_space();
  if (!json || numbers.empty() || (*json)["numbers"] != numbers) return std::nullopt;
  const std::string process = (*json)["process"];
  if (process.empty() || process.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const std::string started = start_of(process);
  return !started.empty() && started == (*json)["started"].get<std::string>();
}

}  // namespace

std::string random_id() {
  std::random_device random;
  std::string digits;
  for (int i = 0; i < 16; ++i) digits += "0123456789abcdef"[random() % 16];
  return digits;
}

std::string new_token() {
  const std::string process = std::to_string(::getpid());
  nlohmann::ordered_json json{{"ckpt_lock", 1}, {"host", host_name()}, {"process", process}, {"since", now()}};
  json["started"] = start_of(process);
  json["numbers"] = number_space();
  json["id"] = random_id();
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool is_token(const std::string& text) {
  return parsed(first_line(text)).has_value();
}

std::string holder_in(const std::string& tokens) {
  const auto json = parsed(first_line(tokens));
  if (!json) return "unknown";
  return "process " + (*json)["process"].get<std::string>() + " on host " + (*json)["host"].get<std::string>() +
         ", since " + (*json)["since"].get<std::string>();
}

std::optional<bool> is_alive(const std::string& tokens) {
  std::istringstream lines(tokens);
  std::size_t dead = 0;
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto alive = lives(line);
    if (alive == true) return true;
    if (alive == false) ++dead;
  }
  return count > 0 && dead == count ? std::optional(false) : std::nullopt;
}

}  // namespace ckpt
