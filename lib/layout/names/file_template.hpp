#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/shared.hpp"
#include "layout/language/mesh.hpp"

namespace ckpt {

/// The file name of a checkpoint's manifest.
inline constexpr const char* manifest_name = "checkpoint.json";

/// The path in an entry of `files`: literal text with `{card}`, `{card:05}` or `{axis}`, `{axis:02}`; or each card's
/// path, if no text describes them all.
class FileTemplate {
 public:
  FileTemplate() : FileTemplate("rank_{card}.h5", Mesh{}) {}

  /// Throws layout for an unknown placeholder, an absolute path, or one that could leave the directory (`..`) or
  /// replace the manifest. `{card}` is the card's id even if an axis has that name.
  FileTemplate(std::string text, const Mesh& mesh);

  using ByCard = std::map<std::uint64_t, std::string>;
  /// Takes the paths of all cards, by id. Throws layout for the same paths as above, for a card without a path, and for
  /// additional cards. A larger mesh that begins with these cards may use it, too.
  FileTemplate(ByCard paths, const Mesh& mesh);

  /// Returns the text, or the first of the paths by card.
  const std::string& text() const noexcept { return text_; }
  /// Returns null if the text describes the paths.
  const ByCard* by_card() const noexcept { return by_card_.get(); }

  /// Returns the path, relative to the checkpoint's directory, for the card at a position.
  std::string path(const Mesh& mesh, std::uint64_t position) const;

  /// Returns the axes whose coordinates the path contains, ascending: all if it contains the card.
  std::vector<std::size_t> axes(const Mesh& mesh) const;
  /// Returns the number of paths: one for each combination of these coordinates, or for each card; others may follow.
  std::uint64_t count(const Mesh& mesh) const;
  /// Returns whether the numbers can be recovered from a path, so that no two cards have the same path: no placeholder
  /// is followed by a digit.
  bool is_decodable() const noexcept;

  friend bool operator==(const FileTemplate& a, const FileTemplate& b) {
    return a.text_ == b.text_ && a.by_card_ == b.by_card_;
  }

 private:
  struct Piece {
    enum class What { nothing, card, axis };
    std::string literal;  ///< text before the placeholder
    What what = What::nothing;
    std::size_t axis = 0;
    std::size_t width = 0;
  };

  std::size_t parse_placeholder(std::size_t open, const Mesh& mesh, Piece& piece) const;

  std::string text_;
  std::vector<Piece> pieces_;
  Shared<ByCard> by_card_;
};

}  // namespace ckpt
