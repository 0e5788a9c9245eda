#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/carried_manifest.hpp"
#include "jobs/types/reshard_job.hpp"
#include "output/free_space.hpp"
#include "tables/paddle/line_move.hpp"
#include "tables/phase/text_target.hpp"

namespace ckpt {

/// The context in which text is made.
struct TextContext {
  const ReshardJob& job;
  TextTarget& target;
  Communicator& processes;
  Counters& counters;
  unsigned threads = 1;
};

/// Some of a job's tables of text, and how their lines are made.
class TextPart {
 public:
  /// `tables`: from the target's layout.
  TextPart(const TextContext& context, std::vector<const KeyedTable*> tables)
      : context_(context), tables_(std::move(tables)) {}
  virtual ~TextPart() = default;
  TextPart(const TextPart&) = delete;
  TextPart& operator=(const TextPart&) = delete;
  TextPart(TextPart&&) = delete;
  TextPart& operator=(TextPart&&) = delete;

  const std::vector<const KeyedTable*>& tables() const noexcept { return tables_; }

  /// Opens the sources, and checks what can be checked before reading them. Collective.
  virtual void look(Stores& stores) = 0;
  /// The files that are read: nothing may overwrite them.
  virtual std::vector<std::filesystem::path> paths_read() const = 0;
  /// A source that the rest of the job reads as well, if this part has opened it; else null.
  virtual const Checkpoint* opened_source() const { return nullptr; }
  /// The datasets of the source that become text.
  virtual std::vector<std::string> datasets() const { return {}; }
  /// Adds what determines the text: "files" (versions by name) and "text".
  virtual void describe(nlohmann::json& job) const = 0;
  /// Reports what there is to read.
  virtual void report_to(Report& report) const = 0;
  /// The earlier conditions that a table's rows have satisfied.
  virtual std::vector<KeptRows> kept_before(const std::string& table) const = 0;
  /// Makes this process's share of a table's files. Collective.
  virtual std::vector<MovedShard> write(const KeyedTable& table, Report& report) = 0;
  /// Throws input if a source has changed since `look`. Called on every process.
  virtual void check_sources(Stores& stores) const = 0;

 protected:
  /// This process's share of `count` numbers.
  std::vector<std::uint64_t> share(std::uint64_t count) const {
    const auto step = static_cast<std::uint64_t>(context_.processes.size());
    std::vector<std::uint64_t> own;
    for (auto n = static_cast<std::uint64_t>(context_.processes.rank()); n < count; n += step) own.push_back(n);
    return own;
  }
  const ReshardJob& job() const noexcept { return context_.job; }
  /// Throws io if there is no room for the output.
  void check_room(std::uint64_t bytes) const {
    if (!job().dry_run && context_.processes.rank() == 0) check_free_space(job().output.path, bytes);
  }

  TextContext context_;
  std::vector<const KeyedTable*> tables_;
};

/// Tables that are text in the source, too: their lines move unchanged. `manifest`: that of the source.
std::unique_ptr<TextPart> moved_lines(const TextContext& context, std::vector<const KeyedTable*> tables,
                                      const Layout& source, SharedManifest manifest);
/// Tables of datasets in the checkpoint that `source` names. `is_all`: nothing else is made from it, so nothing else
/// may be taken.
std::unique_ptr<TextPart> printed_rows(const TextContext& context, std::vector<const KeyedTable*> tables,
                                       const CheckpointPlace& source, bool is_all);

}  // namespace ckpt
