#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tables/phase/text_part.hpp"

namespace ckpt {

/// The layouts of a job whose output has tables of text; an empty target means that it has none.
struct TextLayouts {
  std::optional<Layout> source;
  Layout target;
  SharedManifest manifest = {};  ///< the source's, if it was read
};

/// All tables of a job's output that are Paddle's text: beside whatever else the job writes, alone, or none.
class TextTables {
 public:
  /// Collective. Throws usage for what a job that writes text cannot do, and for --digits if none is written.
  TextTables(const ReshardJob& job, Communicator& processes, Counters& counters);

  /// Whether nothing but text is written.
  bool is_all() const noexcept { return is_all_; }

  const Layout& layout() const noexcept { return layouts_.target; }

  /// Opens and checks the sources. Collective.
  void look(Stores& stores);
  /// The files that are read for the text.
  std::vector<std::filesystem::path> paths_read() const;
  /// The job without its text, after `look`: the source without the tables that become text, into the target's files.
  ReshardJob rest_of_job() const;
  /// The source of that job, if `look` opened it; else null.
  const Checkpoint* opened_source() const;
  /// Adds what determines the text to a job's description (describe_job).
  std::string describe(const std::string& job) const;
  /// Reports what there is to read.
  void report_to(Report& report) const;
  /// Prepares for writing files, as TextTarget::begin. Collective.
  void begin(const Output& output, Journal* journal, bool go_on) { target_.begin(output, journal, go_on); }
  /// Makes all lines. Collective.
  void write(Report& report);
  /// Reads what was written back from the storage. Collective.
  void reread();
  /// Throws input if a source has changed. Called on every process.
  void check_sources(Stores& stores) const;
  std::vector<ManifestFile> manifest_files() const { return target_.manifest_files(); }
  std::vector<ManifestTable> manifest_tables() const { return target_.manifest_tables(); }

 private:
  void check_possible() const;
  void add_parts();

  const ReshardJob& job_;
  Communicator& processes_;
  TextLayouts layouts_;
  TextTarget target_;
  TextContext context_;
  CheckpointPlace rest_;  // the source without the tables whose lines move unchanged
  bool is_all_;
  std::vector<std::unique_ptr<TextPart>> parts_;
};

}  // namespace ckpt
