#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckpt::cli {

/// A line of a done-file of PaddlePaddle's streaming training: which pass's model has been saved completely.
struct DoneLine {
  std::string day;      ///< "20190720"
  std::string pass;     ///< the directory below the day's: "6", "0" (the day's batch model), "base", "delta-6"
  std::string key;      ///< for a base, when it was made; everything saved after it carries this key
  std::string id = {};  ///< for a delta that is written, when it was made

  std::string name() const { return day + "/" + pass; }
  bool is_base() const { return pass == "base"; }
  bool is_delta() const { return pass.starts_with("delta-"); }
  /// Whether this model belongs to an earlier day, or an earlier pass of the same day.
  bool is_before(const DoneLine& other) const;
};

/// Parses "20190720/6", "20190720/base" or "20190720/delta-6"; nothing for other texts.
std::optional<DoneLine> parse_day_and_pass(std::string_view text);

/// Parses donefile.txt (tabs), or a base's or patches' done-file (a JSON object on each line). Takes only day and pass
/// from the paths, which are on the training job's file system. Throws input, naming file and line, if a line is
/// truncated or has another form.
std::vector<DoneLine> parse_done_lines(std::string_view text, const std::string& file);

/// A line in the form for a model of this name: with tabs for a checkpoint, JSON for a base or a delta. `path`: the
/// model's own.
std::string done_line(const DoneLine& line, const std::string& path);

}  // namespace ckpt::cli
