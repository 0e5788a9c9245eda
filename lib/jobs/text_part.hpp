#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "jobs/reshard.hpp"
#include "jobs/text_target.hpp"
#include "output/free_space.hpp"
#include "paddle_files/line_move.hpp"

namespace ckpt {

/// What the making of text goes through with, and adds to.
struct TextMeans {
  const ReshardJob& job;
  TextTarget& target;
  Communicator& processes;
  Counters& counters;
  unsigned threads = 1;
};

/// Some of a job's tables of text: how their lines come about.
class TextPart {
 public:
  /// `tables`: of the target's layout.
  TextPart(const TextMeans& means, std::vector<const KeyedTable*> tables) : means_(means), tables_(std::move(tables)) {}
  virtual ~TextPart() = default;
  TextPart(const TextPart&) = delete;
  TextPart& operator=(const TextPart&) = delete;
  TextPart(TextPart&&) = delete;
  TextPart& operator=(TextPart&&) = delete;

  const std::vector<const KeyedTable*>& tables() const noexcept { return tables_; }

  /// Finds out what there is, and checks what can be checked before it is read. Collective.
  virtual void look(Stores& stores) = 0;
  /// The files that are read: nothing may be written over them.
  virtual std::vector<std::filesystem::path> paths_read() const = 0;
  /// What the rest of the job reads as well, if this has opened it.
  virtual const Checkpoint* opened_source() const { return nullptr; }
  /// The datasets of the source that become text.
  virtual std::vector<std::string> datasets() const { return {}; }
  /// Adds what decides over the text: "files" (versions by name) and "text".
  virtual void describe(nlohmann::json& job) const = 0;
  /// Adds what there is to read.
  virtual void tell(Report& report) const = 0;
  /// The conditions that a table's rows have gone through before.
  virtual std::vector<KeptRows> kept_before(const std::string& table) const = 0;
  /// Makes this process's share of a table's files. Collective.
  virtual std::vector<MovedShard> write(const KeyedTable& table, Report& report) = 0;
  /// Throws input where a source has changed since it was looked at. On every process.
  virtual void check_sources(Stores& stores) const = 0;

 protected:
  /// This process's share of so many.
  std::vector<std::uint64_t> share(std::uint64_t count) const {
    const auto step = static_cast<std::uint64_t>(means_.processes.size());
    std::vector<std::uint64_t> own;
    for (auto n = static_cast<std::uint64_t>(means_.processes.rank()); n < count; n += step) own.push_back(n);
    return own;
  }
  const ReshardJob& job() const noexcept { return means_.job; }
  /// Throws io where what is to be written has no room.
  void check_room(std::uint64_t bytes) const {
    if (!job().dry_run && means_.processes.rank() == 0) check_free_space(job().output.path, bytes);
  }

  TextMeans means_;
  std::vector<const KeyedTable*> tables_;
};

/// Tables that are text in the source, too: their lines move as they are.
std::unique_ptr<TextPart> moved_lines(const TextMeans& means, std::vector<const KeyedTable*> tables,
                                      const Layout& source);
/// Tables of datasets, of the checkpoint that `source` names. `is_all`: nothing else is made of it, so that nothing
/// else may be taken.
std::unique_ptr<TextPart> printed_rows(const TextMeans& means, std::vector<const KeyedTable*> tables,
                                       const CheckpointPlace& source, bool is_all);

}  // namespace ckpt
