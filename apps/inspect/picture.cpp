#include "inspect/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "inspect/picture_scale.hpp"
#include "inspect/svg.hpp"
#include "report/render.hpp"
#include "report/table.hpp"

namespace ckpt::cli {

namespace {

constexpr int page_width = 960;
constexpr int margin = 24;
constexpr int label_width = 200;
constexpr int drawing_left = margin + label_width;
constexpr int drawing_width = page_width - margin - drawing_left;
constexpr int line_height = 16;
constexpr int row_height = 18;
constexpr int small_font = 11;
constexpr std::size_t characters = 128;  ///< in a line of notes
constexpr std::size_t most_panels = 128;
constexpr std::size_t most_columns = 12;

/// How much of a panel is drawn.
struct Detail {
  std::size_t rows;
  std::size_t legend;
};
constexpr Detail of_sheet{24, 16};
constexpr Detail of_one{64, 64};

/// Okabe and Ito's colours, which people with the usual kinds of colour blindness can distinguish; without black, which
/// text needs, and with a grey.
constexpr std::array<const char*, 8> colours{"#e69f00", "#56b4e9", "#009e73", "#f0e442",
                                             "#0072b2", "#d55e00", "#cc79a7", "#999999"};
constexpr const char* colour_of_all = "#e8e8e8";
constexpr const char* colour_of_open = "#b5b5b5";

/// Drawn over the colours from the ninth shard on: one hatching for the second eight shards, one for the third, etc.
constexpr std::array<const char*, 7> hatchings{"M0 8L8 0",         "M0 0L8 8",     "M0 4H8",     "M4 0V8",
                                               "M0 8L8 0M0 0L8 8", "M0 4H8M4 0V8", "M3 3H5V5H3Z"};

std::string definitions() {
  std::string text = R"(<style>text{font-family:sans-serif;fill:#111}
.title{font-size:18px;font-weight:bold}.name{font-size:15px;font-weight:bold}.note{font-size:12px;fill:#444}
.left,.middle,.right{font-size:11px}.middle{text-anchor:middle}.right{text-anchor:end}
.cell{font-size:11px;text-anchor:middle;stroke:#fff;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.box{stroke:#fff;stroke-width:1px}.pad{stroke:#888;stroke-width:1px;stroke-dasharray:3 2}.over{pointer-events:none}</style>
<defs>
)";
  for (std::size_t i = 0; i < hatchings.size(); ++i)
    text += fmt::format(R"(<pattern id="h{}" width="8" height="8" patternUnits="userSpaceOnUse">)"
                        R"(<path d="{}" stroke="#000" stroke-opacity="0.55" fill="none"/></pattern>)",
                        i + 1, hatchings[i]) +
            "\n";
  return text + "</defs>\n";
}

/// Neighbouring shards in a row or column of any power of 8 get different hatchings.
std::size_t hatching_of(std::size_t shard) {
  return (shard / 8 + shard / 64 + shard / 512) % (hatchings.size() + 1);
}

/// Turns a drawing that has no rows, but more columns than fit side by side, so that they lie one below the other.
Panel turned(Panel panel) {
  if (panel.rows.marks.size() > 1 || panel.columns.marks.size() <= most_columns) return panel;
  std::swap(panel.rows, panel.columns);
  for (Slice& slice : panel.slices)
    for (Cell& cell : slice.cells) std::swap(cell.rows, cell.columns);
  return panel;
}

/// Draws a picture from top to bottom.
class Picture {
 public:
  explicit Picture(Detail detail) : detail_(detail) {}

  void heading(const PictureHeading& heading) {
    for (const auto& line : wrapped(heading.title, 80)) write("title", line, 24);
    for (const auto& line : heading.lines) notes(line);
  }

  void add(const Panel& given) {
    const Panel panel = turned(given);
    y_ += 24;
    for (const auto& line : wrapped(shortened(panel.title, 400), 100)) write("name", line, 20);
    for (std::size_t i = 0; i < panel.notes.size(); ++i) {
      const bool has_rule = i == 0 && !panel.rules.empty();
      const std::string rules =
          has_rule ? (panel.rules.size() == 1 ? "; rule: " : "; rules: ") + join(panel.rules) : "";
      notes(shortened(panel.notes[i] + rules, 400));
    }
    if (panel.is_open) return draw_open();
    if (panel.rows.marks.empty() || panel.columns.marks.empty()) return notes("it has no elements");
    if (!panel.rows.title.empty()) notes("↓ " + panel.rows.title);
    if (!panel.columns.title.empty()) notes("→ " + panel.columns.title);
    const int height = panel.shards.size() == 1 ? 28 : panel.rows.marks.size() == 1 ? 40 : 64;
    const Scale rows(panel.rows.marks, {row_height, height, detail_.rows});
    const Scale columns(panel.columns.marks, {drawing_width / 15, drawing_width, most_columns});
    for (const Slice& slice : panel.slices) {
      if (!slice.label.empty()) {
        y_ += 6;
        notes(slice.label);
      }
      draw(panel, slice, rows, columns);
    }
    if (panel.slices_left_out > 0) notes("… and " + counted(panel.slices_left_out, "slice") + " like these");
    legend(panel.shards);
  }

  void notes(const std::string& text) {
    for (const auto& line : wrapped(text, characters)) write("note", line, line_height);
  }

  std::string document(const std::string& title) const {
    return svg_.document(page_width, y_ + margin, title, definitions());
  }

 private:
  void write(const char* style, const std::string& text, int height) {
    y_ += height;
    svg_.text(margin, y_, style, text);
  }

  void fill(const Svg::Rect& at, std::size_t shard, bool is_only, const std::string& tip) {
    svg_.rect(at, "box", is_only ? colour_of_all : colours[shard % colours.size()], tip);
    if (const std::size_t hatching = is_only ? 0 : hatching_of(shard); hatching > 0)
      svg_.rect(at, "over", "url(#h" + std::to_string(hatching) + ")", "");
  }

  /// Writes the first of the texts that fits.
  void label(const Svg::Rect& at, const std::vector<std::string>& texts) {
    for (const auto& text : texts) {
      if (text.empty() || text_width(text, small_font) + 4 > at.width) continue;
      return svg_.text(at.x + at.width / 2, at.y + at.height / 2 + 4, "cell", text);
    }
  }

  static std::string range(Interval interval) {
    return std::to_string(interval.lo) + ":" + std::to_string(interval.hi);
  }

  void label_sides(const Panel& panel, const Scale& rows, const Scale& columns) {
    const auto& marks = panel.columns.marks;
    const bool is_labelled = std::any_of(marks.begin(), marks.end(), [](const Mark& m) { return !m.label.empty(); });
    const int ranges = y_ + (is_labelled ? 2 : 1) * 14;
    for (std::size_t i = 0; i < marks.size() && !panel.columns.title.empty(); ++i) {
      if (!columns.is_drawn(i)) continue;
      const auto [from, to] = columns.of_mark(i);
      const int middle = drawing_left + (from + to) / 2;
      const auto fits = [&, width = to - from](const std::string& text) {
        return text_width(text, small_font) <= width;
      };
      if (!marks[i].label.empty() && fits(marks[i].label)) svg_.text(middle, y_ + 14, "middle", marks[i].label);
      if (const std::string text = range(marks[i].interval); fits(text)) svg_.text(middle, ranges, "middle", text);
    }
    y_ = (panel.columns.title.empty() ? y_ : ranges) + 5;
    for (std::size_t i = 0; i < panel.rows.marks.size() && !panel.rows.title.empty(); ++i) {
      if (!rows.is_drawn(i)) continue;
      const auto [from, to] = rows.of_mark(i);
      const Mark& mark = panel.rows.marks[i];
      std::string text = mark.label;
      if (panel.rows.counts_elements) text += (text.empty() ? "" : " · ") + range(mark.interval);
      if (text_width(text, small_font) > label_width - 6) text = mark.label;
      svg_.text(drawing_left - 6, y_ + (from + to) / 2 + 4, "right", text);
    }
  }

  void draw(const Panel& panel, const Slice& slice, const Scale& rows, const Scale& columns) {
    label_sides(panel, rows, columns);
    const bool is_only = panel.shards.size() == 1;
    for (const Cell& cell : slice.cells) {
      const auto down = rows.of(cell.rows);
      const auto across = columns.of(cell.columns);
      if (!down || !across) continue;
      const Svg::Rect at{drawing_left + across->from, y_ + down->from, across->size(), down->size()};
      if (!cell.shard) {
        svg_.rect(at, "pad", "#fff", "padding");
        label(at, {"padding"});
        continue;
      }
      const Shard& shard = panel.shards[*cell.shard];
      const std::string cards = (shard.cards.count() == 1 ? "card " : "cards ") + shard.cards.text();
      fill(at, *cell.shard, is_only, shard.label + (shard.label.empty() ? "" : ": ") + cards);
      label(at, {cards, shard.cards.text(), shard.label});
    }
    gaps(rows, columns);
    y_ += rows.length() + 4;
    if (rows.left_out() > 0) notes(counted(rows.left_out(), "row") + " in the middle are not drawn");
    if (columns.left_out() > 0) notes(counted(columns.left_out(), "column") + " in the middle are not drawn");
  }

  void gaps(const Scale& rows, const Scale& columns) {
    if (const auto gap = rows.gap()) {
      const Svg::Rect at{drawing_left, y_ + gap->from, columns.length(), gap->size()};
      svg_.rect(at, "over", "#fff", "");
      label(at, {"⋮"});
    }
    if (const auto gap = columns.gap()) {
      const Svg::Rect at{drawing_left + gap->from, y_, gap->size(), rows.length()};
      svg_.rect(at, "over", "#fff", "");
      label(at, {"⋯"});
    }
  }

  void draw_open() {
    const Svg::Rect at{drawing_left, y_ + 6, drawing_width, row_height};
    svg_.rect(at, "pad", colour_of_open, "no rule");
    label(at, {"?"});
    y_ += row_height + 10;
  }

  /// Lists which cards hold what, in as many columns as the longest entry allows.
  void legend(const std::vector<Shard>& shards) {
    if (shards.size() < 2 && (shards.empty() || shards.front().holds.empty())) return;
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < shards.size(); ++i)
      if (i < (detail_.legend + 1) / 2 || i + detail_.legend / 2 >= shards.size()) shown.push_back(i);
    std::vector<std::string> texts;
    int widest = 0;
    for (const std::size_t i : shown) {
      const Shard& shard = shards[i];
      texts.push_back(shortened(shard.label + (shard.label.empty() ? "" : ": ") +
                                    (shard.cards.count() == 1 ? "card " : "cards ") + shard.cards.text() +
                                    (shard.holds.empty() ? "" : " — " + shard.holds),
                                characters));
      widest = std::max(widest, text_width(texts.back(), small_font));
    }
    const int each = widest + 40;
    const std::size_t across = static_cast<std::size_t>(std::clamp((page_width - 2 * margin) / each, 1, 4));
    const std::size_t lines = (shown.size() + across - 1) / across;
    y_ += 6;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const int x = margin + static_cast<int>(i / lines) * (page_width - 2 * margin) / static_cast<int>(across);
      const int y = y_ + static_cast<int>(i % lines) * line_height;
      fill({x, y, 16, 12}, shown[i], shards.size() == 1, "");
      svg_.text(x + 22, y + 10, "left", texts[i]);
    }
    y_ += static_cast<int>(lines) * line_height;
    if (shown.size() < shards.size())
      notes(counted(shards.size() - shown.size(), "shard") + " between them are not listed");
  }

  Detail detail_;
  Svg svg_;
  int y_ = 12;
};

}  // namespace

const ResultKind& picture_kind() {
  static const ResultKind kind{"--picture", "picture",
                               [](std::string_view start) { return start.starts_with(Svg::beginning()); }};
  return kind;
}

std::string picture_svg(const PictureHeading& heading, const std::vector<Panel>& panels) {
  Picture picture(panels.size() == 1 ? of_one : of_sheet);
  picture.heading(heading);
  for (std::size_t i = 0; i < panels.size() && i < most_panels; ++i) picture.add(panels[i]);
  if (panels.size() > most_panels) {
    picture.notes("");
    picture.notes(counted(panels.size() - most_panels, "more drawing") +
                  (panels.size() == most_panels + 1 ? " is" : " are") + " left out: choose parameters");
  }
  return picture.document(heading.title);
}

}  // namespace ckpt::cli
