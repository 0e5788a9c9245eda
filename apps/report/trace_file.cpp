#include "report/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "report/json_text.hpp"

namespace ckpt::cli {

namespace {

constexpr std::string_view beginning = R"({"displayTimeUnit":"ms","program":"ckpt-)";

std::string quoted(const std::string& text) {
  return json_text(nlohmann::ordered_json(text), -1);
}

std::string name_event(const char* what, std::size_t process, std::size_t thread, const std::string& name) {
  return fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process, thread,
                     quoted(name));
}

}  // namespace

std::size_t most_spans(int processes, unsigned threads) {
  constexpr std::size_t of_all = 1U << 16;
  constexpr std::size_t least_spans = 16;
  return std::clamp<std::size_t>(of_all / (static_cast<std::size_t>(processes) * (threads + 1)), least_spans, 8192);
}

std::string trace_json(const std::string& program, const std::vector<ProcessTrace>& processes) {
  trace::Ns first = std::numeric_limits<trace::Ns>::max();
  for (const auto& [name, ahead, rows] : processes)
    for (const trace::Row& row : rows)
      for (const trace::Span& span : row.spans) first = std::min(first, span.begin - ahead);
  std::string text = fmt::format(R"({{"displayTimeUnit":"ms","program":{},"version":{},"traceEvents":[)",
                                 quoted(program), quoted(CKPT_VERSION));
  const char* separator = "\n";
  const auto add = [&](const std::string& event) {
    text.append(separator).append(event);
    separator = ",\n";
  };
  for (std::size_t process = 0; process < processes.size(); ++process) {
    const auto& [name, ahead, rows] = processes[process];
    add(name_event("process_name", process, 0, name));
    for (std::size_t thread = 0; thread < rows.size(); ++thread) {
      add(name_event("thread_name", process, thread, thread == 0 ? "main" : "thread " + std::to_string(thread)));
      for (const trace::Span& span : rows[thread].spans)
        add(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
                        quoted(span.name), span.is_phase ? "phase" : "work", process, thread,
                        double(span.begin - ahead - first) * 1e-3, double(span.length) * 1e-3));
    }
  }
  return text + "\n]}\n";
}

const ResultKind& trace_kind() {
  static const ResultKind kind{"--trace", "trace", [](std::string_view start) { return start.starts_with(beginning); }};
  return kind;
}

}  // namespace ckpt::cli
