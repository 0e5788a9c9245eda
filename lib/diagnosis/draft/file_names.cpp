#include "diagnosis/draft/file_names.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "diagnosis/draft/counters.hpp"
#include "layout/names/name_groups.hpp"

namespace ckpt::drafting {

namespace {

/// A number that varies from name to name.
struct Slot {
  std::size_t piece = 0;
  std::set<std::uint64_t> values;
  std::size_t width = 0;  ///< of zero-padded numbers; else 0
  std::string word;       ///< the text before it
};

[[noreturn]] void refuse(const std::string& found, const std::string& expected, const std::string& remedy,
                         const Advice& advice = {}) {
  throw Error(Kind::input, "the names of the files", {found, expected, remedy, advice});
}

std::uint64_t value_of(const std::string& digits) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size())
    refuse("the number " + digits, "cards' numbers", "");
  return value;
}

class NameForm {
 public:
  explicit NameForm(const std::vector<std::string>& names) {
    for (const std::string& name : names) rows_.push_back(text_and_numbers(name));
    check_same_text(names);
    for (std::size_t piece = 1; piece < rows_.front().size(); piece += 2) add_slot(piece);
  }

  std::vector<Slot>& slots() { return slots_; }

  /// The names' template, with these words in the slots.
  std::string with(const std::vector<std::string>& words) const {
    std::string text;
    for (std::size_t piece = 0; piece < rows_.front().size(); ++piece) {
      const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& s) { return s.piece == piece; });
      if (slot == slots_.end()) {
        text += rows_.front()[piece];
        continue;
      }
      text.append("{").append(words[static_cast<std::size_t>(slot - slots_.begin())]);
      if (slot->width != 0) text.append(":0").append(std::to_string(slot->width));
      text += "}";
    }
    return text;
  }

 private:
  static void check_same_text(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (!differ_in_numbers(name, names[0]))
        refuse("files of several kinds, such as " + names[0] + " and " + name, "names that differ in numbers only",
               "a draft is made of one kind: put the files of each into a directory of its own (links will do), or "
               "write \"files\" as a list by hand");
  }

  void add_slot(std::size_t piece) {
    Slot slot{piece, {}, 0, rows_.front()[piece - 1]};
    bool same_length = true;
    bool has_zero = false;
    const std::size_t length = rows_.front()[piece].size();
    for (const auto& row : rows_) {
      slot.values.insert(value_of(row[piece]));
      same_length = same_length && row[piece].size() == length;
      has_zero = has_zero || (row[piece].size() > 1 && row[piece].front() == '0');
    }
    if (slot.values.size() < 2) return;
    if (has_zero && !same_length) refuse("numbers of different lengths with leading zeros", "one length", "");
    if (has_zero) slot.width = length;
    slots_.push_back(std::move(slot));
  }

  std::vector<std::vector<std::string>> rows_;
  std::vector<Slot> slots_;
};

std::string shown(const Mesh& mesh) {
  std::vector<std::string> words;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    words.push_back(mesh.axes[a] + "=" + std::to_string(mesh.shape[a]));
  return join(words, words.size());
}

/// Interprets one number as the cards' ids.
FileNames of_cards(const NameForm& form, const Slot& slot, const std::optional<Mesh>& given) {
  const std::uint64_t count = slot.values.size();
  FileNames result{form.with({"card"}), given.value_or(Mesh{{"card"}, {count}, {}})};
  if (result.mesh.size() == count) {
    if (!counts_from_zero(slot.values)) result.mesh.cards.assign(slot.values.begin(), slot.values.end());
    return result;
  }
  std::vector<std::string> axes;
  for (std::size_t a = 0; a < result.mesh.axes.size(); ++a)
    if (result.mesh.shape[a] == count && counts_from_zero(slot.values)) axes.push_back(result.mesh.axes[a]);
  if (axes.size() != 1)
    refuse("they number " + std::to_string(count) + " cards",
           std::to_string(result.mesh.size()) + ", as the mesh " + shown(result.mesh) + " has",
           "is the checkpoint complete?", {Advice::What::give_mesh, ""});
  result.files = form.with({axes.front()});
  return result;
}

/// Finds every way to give each slot an axis of its size.
void assign(const std::vector<Slot>& slots, const Mesh& mesh, std::vector<std::size_t>& axes,
            std::vector<std::vector<std::size_t>>& found) {
  if (axes.size() == slots.size()) return found.push_back(axes);
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    if (mesh.shape[a] != slots[axes.size()].values.size()) continue;
    if (std::find(axes.begin(), axes.end(), a) != axes.end()) continue;
    axes.push_back(a);
    assign(slots, mesh, axes, found);
    axes.pop_back();
  }
}

/// How many of the slots follow the name of their axis.
std::size_t named(const std::vector<Slot>& slots, const Mesh& mesh, const std::vector<std::size_t>& axes) {
  std::size_t count = 0;
  for (std::size_t s = 0; s < slots.size(); ++s)
    if (slots[s].word.find(mesh.axes[axes[s]]) != std::string::npos) ++count;
  return count;
}

std::vector<std::size_t> axes_of(const std::vector<Slot>& slots, const Mesh& mesh) {
  std::vector<std::vector<std::size_t>> ways;
  std::vector<std::size_t> none;
  assign(slots, mesh, none, ways);
  if (ways.empty())
    refuse(std::to_string(slots.size()) + " numbers that vary, of " + std::to_string(slots[0].values.size()) + ", " +
               std::to_string(slots[1].values.size()) + (slots.size() > 2 ? ", …" : "") + " values",
           "the sizes of axes of the mesh " + shown(mesh), "", {Advice::What::give_mesh, ""});
  std::stable_sort(ways.begin(), ways.end(),
                   [&](const auto& a, const auto& b) { return named(slots, mesh, a) > named(slots, mesh, b); });
  if (ways.size() > 1 && named(slots, mesh, ways[0]) == named(slots, mesh, ways[1]))
    refuse("several numbers with as many values", "one for each axis of " + shown(mesh),
           "name the axes after the words before the numbers, such as dp for dp_0_tp_1");
  return ways.front();
}

/// Interprets several numbers as coordinates.
FileNames of_coordinates(NameForm& form, std::size_t count, const std::optional<Mesh>& given) {
  const std::vector<Slot>& slots = form.slots();
  FileNames result;
  std::uint64_t places = 1;
  for (const Slot& slot : slots) {
    if (!counts_from_zero(slot.values)) refuse("a number that does not count from 0", "coordinates", "");
    places *= slot.values.size();
    result.mesh.axes.push_back("a" + std::to_string(result.mesh.axes.size()));
    result.mesh.shape.push_back(slot.values.size());
  }
  if (places != count)
    refuse(std::to_string(count) + " files", "one for each of " + std::to_string(places) + " combinations of numbers",
           "is the checkpoint complete?");
  if (given) result.mesh = *given;
  std::vector<std::string> words;
  for (const std::size_t axis : given ? axes_of(slots, *given) : std::vector<std::size_t>{})
    words.push_back(given->axes[axis]);
  result.files = form.with(given ? words : result.mesh.axes);
  return result;
}

}  // namespace

FileNames read_file_names(const std::vector<std::string>& names, const std::optional<Mesh>& given) {
  NameForm form(names);
  if (form.slots().empty()) {
    if (given && given->size() != 1)
      refuse("one file, " + names.front(),
             "the files of " + std::to_string(given->size()) + " cards, as the mesh " + shown(*given) + " has",
             "is the checkpoint complete?");
    return {form.with({}), given.value_or(Mesh{{"card"}, {1}, {}})};
  }
  if (form.slots().size() == 1) return of_cards(form, form.slots().front(), given);
  return of_coordinates(form, names.size(), given);
}

}  // namespace ckpt::drafting
