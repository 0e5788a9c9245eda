#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt::cli {

/// A line of a done-file of PaddlePaddle's streaming training: which model of which pass has been saved whole.
struct DoneLine {
  std::string day;      ///< "20190720"
  std::string pass;     ///< the directory below the day's: "6", "0" (the day's batch model), "base", "delta-6"
  std::string key;      ///< of a base, when it was made; all that was saved after it carries it
  std::string id = {};  ///< of a delta that is written, when it was made

  std::string name() const { return day + "/" + pass; }
  bool is_base() const { return pass == "base"; }
  bool is_delta() const { return pass.starts_with("delta-"); }
  /// Whether this model is of an earlier day, or an earlier pass of the day.
  bool is_before(const DoneLine& other) const;
};

/// "20190720/6", "20190720/base", "20190720/delta-6"; nothing where the text is none of these.
std::optional<DoneLine> parse_day_and_pass(std::string_view text);

/// The lines of donefile.txt (tabs), or of a base's or patches' done-file (a JSON object each). Of the paths that they
/// name, which are on the training job's file system, only day and pass are taken. Throws input, naming file and line,
/// for one that is cut or of another form.
std::vector<DoneLine> parse_done_lines(std::string_view text, const std::string& file);

/// A line of the form that a model of this name has: with tabs for a checkpoint, JSON for a base or a delta.
/// `path`: the model's own.
std::string done_line(const DoneLine& line, const std::string& path);

}  // namespace ckpt::cli
