#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/text_part.hpp"

namespace ckpt {

/// The layouts of a job whose output has tables of text.
struct TextLayouts {
  std::optional<Layout> source;
  Layout target;
};

/// Nothing where it has none. Collective; throws usage for --digits then.
std::optional<TextLayouts> text_layouts(const ReshardJob& job, Communicator& processes);

/// All tables of a job's output that are Paddle's text: beside whatever else the job writes, or alone.
class TextTables {
 public:
  /// `target`: the output's layout. `source`: that of the job's source, which must outlive it; null: none of its tables
  /// is text.
  TextTables(const ReshardJob& job, const Layout& target, const Layout* source, Communicator& processes,
             Counters& counters);

  /// The source without the tables whose lines move as they are.
  const CheckpointPlace& rest() const noexcept { return rest_; }
  /// Whether nothing but text is written.
  bool is_all() const noexcept { return is_all_; }

  const Layout& layout() const noexcept { return target_.layout(); }

  /// Throws usage for what a job that writes text cannot do.
  void check_possible() const;
  /// Finds out what there is. Collective.
  void look(Stores& stores);
  /// The files that are read for it.
  std::vector<std::filesystem::path> paths_read() const;
  /// The datasets of the source that become text.
  std::vector<std::string> datasets() const;
  /// A job's description (describe_job) with what decides over the text.
  std::string describe(const std::string& job) const;
  /// Adds what there is to read.
  void tell(Report& report) const;
  /// Makes room for files, as TextTarget::begin. Collective.
  void begin(const Output& output, Journal* journal, bool go_on) { target_.begin(output, journal, go_on); }
  /// Makes all lines. Collective.
  void write(Report& report);
  /// Reads what was written from the storage. Collective.
  void reread();
  /// Throws input where a source has changed. On every process.
  void check_sources(Stores& stores) const;
  std::vector<ManifestFile> manifest_files() const { return target_.manifest_files(); }
  std::vector<ManifestTable> manifest_tables() const { return target_.manifest_tables(); }

 private:
  const ReshardJob& job_;
  Communicator& processes_;
  TextTarget target_;
  TextMeans means_;
  CheckpointPlace rest_;
  bool is_all_;
  std::vector<std::unique_ptr<TextPart>> parts_;
};

/// What a job does beside its text, which has been looked at: the source without the tables that have become text, into
/// the target's files.
ReshardJob beside_text(const ReshardJob& job, const TextTables& text);

}  // namespace ckpt
