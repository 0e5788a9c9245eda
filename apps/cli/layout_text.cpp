#include "cli/layout_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "frameworks/describe.hpp"
#include "layout/language/parse_json.hpp"
#include "layout/names/file_template.hpp"
#include "layout/strategies/strategy.hpp"
#include "store/stores.hpp"

namespace ckpt::cli {

namespace {

/// Far above any layout; a larger file is a checkpoint given by mistake, which must not be read into memory.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

struct Closer {
  void operator()(std::FILE* file) const noexcept {
    if (file != stdin) std::fclose(file);
  }
};

Error unreadable(const std::string& origin, const std::string& remedy = "") {
  return system_error(origin, "layout cannot be read", errno, remedy).of_kind(Kind::layout);
}

std::string read_text(const std::string& file, const std::string& origin) {
  const std::unique_ptr<std::FILE, Closer> stream(file == "-" ? stdin : std::fopen(file.c_str(), "rb"));
  if (stream == nullptr) throw unreadable(origin, "check its path");
  std::string text;
  std::array<char, 65536> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), stream.get())) {
    text.append(block.data(), count);
    if (text.size() > most_bytes)
      throw Error(Kind::layout, origin,
                  {"larger than " + format_bytes(most_bytes), "a layout, which is JSON text",
                   "were the arguments given in another order?"});
  }
  check_interrupt();
  if (std::ferror(stream.get()) != 0) throw unreadable(origin);
  return text;
}

/// The distinct strategies in a directory, where each rank of a job may have written its own.
std::vector<StrategyText> read_strategies(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end(),
            [](const auto& a, const auto& b) { return natural_less(a.native(), b.native()); });
  std::vector<StrategyText> texts;
  for (const auto& path : paths) {
    StrategyText read{path.string(), read_text(path, path.string())};
    const auto is_same = [&](const StrategyText& other) { return other.text == read.text; };
    if (is_strategy(read.text) && std::none_of(texts.begin(), texts.end(), is_same)) texts.push_back(std::move(read));
  }
  if (texts.empty())
    throw Error(Kind::layout, directory.string(),
                {"a directory without strategy files", "a layout, or MindSpore's strategies",
                 "were the arguments given in another order?"});
  return texts;
}

/// A layout as JSON, and whether it was a strategy.
struct LayoutText {
  std::string json;
  bool is_strategy = false;
};

/// A file that cannot be read is none: that is said when it is read.
bool is_of_tensors(const std::filesystem::path& file, SourceStore& store) {
  try {
    return store.recognises(file);
  } catch (const Error&) {
    return false;
  }
}

/// Throws layout if a checkpoint is given in place of a layout. MindSpore's have the name and the form of its
/// strategies, of which the strategies' reader tells them.
void refuse_checkpoint(const std::filesystem::path& path, const std::string& origin, SourceStore& store) {
  std::error_code none;
  std::string format;
  bool says_how = true;
  if (std::filesystem::is_regular_file(path, none)) {
    if (!is_of_tensors(path, store)) return;
    says_how = false;
    try {
      const FileCatalog catalog = store.catalog(path);
      format = catalog.schema->format;
      says_how = !catalog.schema->layout.empty();
    } catch (const Error& error) {
      if (error.kind() != Kind::input) throw;
      format = "damaged";
    }
  } else if (const auto described = SelfDescribed::find(path)) {
    format = described->name();
  }
  if (format == "mindspore" || (format.empty() && !std::filesystem::exists(path / manifest_name, none))) return;
  throw Error(
      Kind::layout, origin,
      {"a checkpoint" + (format.empty() ? "" : " (" + format + ")"), "a layout (JSON), or MindSpore's strategies",
       says_how ? "print how it is cut: ckpt inspect --as-layout " + shell_word(path.string()) + " > layout.json"
                : "were the arguments given in another order?"});
}

LayoutText layout_text(const std::string& file, const std::string& origin, const RankOf& rank_of, SourceStore& store) {
  std::error_code none;
  const bool is_directory = std::filesystem::is_directory(file, none);
  if (file != "-") refuse_checkpoint(file, origin, store);
  const auto texts =
      is_directory ? read_strategies(file) : std::vector<StrategyText>{{origin, read_text(file, origin)}};
  const std::string& first = texts.front().text;
  const bool is_checkpoint = first.starts_with('\n') && first.find('\0') != std::string::npos;  // not parsed as JSON
  if (!is_strategy(first) && !is_checkpoint) return {first, false};
  std::vector<StageStrategy> stages;
  for (const StrategyText& each : texts)
    for (StageStrategy& stage : parse_strategy(each, rank_of)) stages.push_back(std::move(stage));
  return {to_json(strategy_layout(stages, origin)), true};
}

/// A parameter's number of dimensions, from the first tensor file below a path that has it.
std::optional<std::size_t> stored_rank(const std::filesystem::path& path, const std::string& name, SourceStore& store) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error))
      if (entry.is_regular_file(error)) files.push_back(entry.path());
  if (files.empty()) files.push_back(path);
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    if (!std::filesystem::exists(file, error) || !store.recognises(file)) continue;
    const auto schema = store.catalog(file).schema;
    if (const std::size_t found = schema->find(name); found < schema->arrays->size())
      return (*schema->arrays)[found].shape.size();
  }
  return std::nullopt;
}

}  // namespace

Layout read_layout(const std::string& file, const std::filesystem::path& checkpoint, Communicator& processes) {
  return read_layout_of_files(file, checkpoint, processes).layout;
}

LayoutOfFiles read_layout_of_files(const std::string& file, const std::filesystem::path& checkpoint,
                                   Communicator& processes) {
  const std::string origin = file == "-" ? "standard input" : file;
  LayoutText text;
  agree(processes, [&] {
    if (processes.rank() != 0) return;
    Stores stores;
    try {
      const auto rank_of = [&](const std::string& name) -> std::optional<std::size_t> {
        return checkpoint.empty() ? std::nullopt : stored_rank(checkpoint, name, stores.reading());
      };
      text = layout_text(file, origin, rank_of, stores.reading());
    } catch (Error& error) {
      const bool is_signal = error.kind() == Kind::interrupted || error.kind() == Kind::terminated;
      if (const std::string host = processes.host_of(0); !host.empty() && !is_signal)
        error.advise("process 0 reads it, on " + host);
      throw;
    }
  });
  text.json = processes.broadcast(text.json, 0);
  LayoutOfFiles read;
  agree(processes, [&] {
    read.layout = parse_layout(text.json, origin);
    read.names_files = parsing::parse_json(text.json, origin).contains("files");
  });
  read.layout.is_plan = processes.maximum(text.is_strategy ? 1 : 0) != 0;
  return read;
}

}  // namespace ckpt::cli
