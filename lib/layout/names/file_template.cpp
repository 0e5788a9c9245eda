#include "layout/names/file_template.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "layout/names/characters.hpp"

namespace ckpt {

namespace {

constexpr std::string_view journal = ".journal";
constexpr std::size_t max_width = 20;  // the digits of 2^64

[[noreturn]] void fail(std::string found, std::string expected, std::string remedy = {}) {
  throw Error(Kind::layout, "", {"found " + std::move(found), std::move(expected), std::move(remedy)});
}

std::string placeholders(const Mesh& mesh) {
  std::vector<std::string> names{"{card}"};
  for (const auto& axis : mesh.axes)
    if (axis != "card") names.push_back("{" + axis + "}");
  return join(names, max_width);
}

/// Parses the number after the colon of {card:05}.
std::size_t parse_width(const std::string& placeholder, std::string_view format) {
  const bool is_zero_padded = format.size() >= 2 && format.size() <= 3 && format[0] == '0' &&
                              std::all_of(format.begin(), format.end(), is_digit) && format[1] != '0';
  const std::size_t width = is_zero_padded ? std::stoul(std::string(format.substr(1))) : 0;
  if (width == 0 || width > max_width)
    fail("the placeholder {" + placeholder + "}", "a width of at most 20 digits, written as in {card:05}");
  return width;
}

void append_number(std::string& text, std::uint64_t number, std::size_t width) {
  const auto digits = std::to_string(number);
  if (digits.size() < width) text.append(width - digits.size(), '0');
  text += digits;
}

/// A placeholder becomes at least one digit, so that the text's own components show whether a path could leave the
/// directory.
void check_path(const std::string& text) {
  if (text.empty()) fail("an empty file name", "a name such as rank_{card}.h5");
  if (text.find('\0') != std::string::npos) fail("a NUL character in a file name", "a name such as rank_{card}.h5");
  if (text.front() == '/') fail("the absolute path \"" + text + "\"", "one relative to the checkpoint's directory");
  std::string_view rest = text;
  for (bool is_first = true; is_first || !rest.empty(); is_first = false) {
    const std::size_t slash = rest.find('/');
    const auto component = rest.substr(0, slash);
    const bool ends_in_slash = slash != std::string_view::npos && slash + 1 == rest.size();
    if (component.empty() || component == "." || component == ".." || ends_in_slash)
      fail("\"" + text + "\"", R"(a path within the checkpoint's directory, without ".", ".." and empty components)");
    if (is_first && component == manifest_name)
      fail("the file name \"" + text + "\"",
           std::string("another one: ") + manifest_name + " is the checkpoint's own manifest");
    if (is_first && component == journal)
      fail("the path \"" + text + "\"", "another one: .journal is where an unfinished output keeps account of itself");
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
}

}  // namespace

FileTemplate::FileTemplate(std::string text, const Mesh& mesh) : text_(std::move(text)) {
  check_path(text_);
  Piece piece;
  std::size_t at = 0;
  while (at < text_.size()) {
    if (text_[at] == '}') fail("a } without its { in \"" + text_ + "\"", "{card} or {AXIS}");
    if (text_[at] == '{') {
      at = parse_placeholder(at, mesh, piece);
      pieces_.push_back(std::exchange(piece, Piece{}));
    } else {
      piece.literal += text_[at++];
    }
  }
  if (!piece.literal.empty()) pieces_.push_back(std::move(piece));
}

FileTemplate::FileTemplate(ByCard paths, const Mesh& mesh) {
  for (const auto& [card, path] : paths) check_path(path);
  for (std::uint64_t position = 0; position < mesh.size(); ++position)
    if (!paths.contains(mesh.card(position)))
      fail("no path for card " + std::to_string(mesh.card(position)), "one for each card of the mesh");
  if (paths.size() != mesh.size())
    fail(std::to_string(paths.size()) + " paths", std::to_string(mesh.size()) + ", one for each card of the mesh");
  text_ = paths.begin()->second;
  by_card_ = std::move(paths);
}

/// Parses the placeholder whose { is at `open`; returns the position after its }.
std::size_t FileTemplate::parse_placeholder(std::size_t open, const Mesh& mesh, Piece& piece) const {
  const std::size_t close = text_.find_first_of("{}", open + 1);
  if (close == std::string::npos || text_[close] != '}') fail("an open { in \"" + text_ + "\"", "a closing }");
  const std::string inside = text_.substr(open + 1, close - open - 1);
  const std::size_t colon = inside.find(':');
  const std::string name = inside.substr(0, colon);
  if (name == "card") {
    piece.what = Piece::What::card;
  } else if (const auto axis = mesh.axis(name)) {
    piece.what = Piece::What::axis;
    piece.axis = *axis;
  } else {
    fail("the placeholder {" + name + "} in \"" + text_ + "\"", "one of " + placeholders(mesh));
  }
  if (colon != std::string::npos) piece.width = parse_width(inside, std::string_view(inside).substr(colon + 1));
  return close + 1;
}

std::string FileTemplate::path(const Mesh& mesh, std::uint64_t position) const {
  if (by_card_) {
    const auto found = by_card_->find(mesh.card(position));
    return found == by_card_->end() ? by_card_->begin()->second : found->second;
  }
  std::string result;
  result.reserve(text_.size() + 16);
  for (const auto& piece : pieces_) {
    result += piece.literal;
    if (piece.what == Piece::What::card) append_number(result, mesh.card(position), piece.width);
    if (piece.what == Piece::What::axis) append_number(result, mesh.coordinate(position, piece.axis), piece.width);
  }
  return result;
}

std::uint64_t FileTemplate::count(const Mesh& mesh) const {
  return by_card_ ? std::min<std::uint64_t>(by_card_->size(), mesh.size()) : mesh.combinations(axes(mesh));
}

bool FileTemplate::is_decodable() const noexcept {
  if (by_card_) return false;
  for (std::size_t i = 0; i + 1 < pieces_.size(); ++i) {
    const auto& after = pieces_[i + 1].literal;
    if (after.empty() || is_digit(after.front())) return false;
  }
  return true;
}

std::vector<std::size_t> FileTemplate::axes(const Mesh& mesh) const {
  std::vector<std::size_t> named;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (by_card_ || std::any_of(pieces_.begin(), pieces_.end(), [axis](const Piece& piece) {
          return piece.what == Piece::What::card || (piece.what == Piece::What::axis && piece.axis == axis);
        }))
      named.push_back(axis);
  return named;
}

}  // namespace ckpt
