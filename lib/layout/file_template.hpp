#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layout/mesh.hpp"

namespace ckpt {

/// A checkpoint's manifest, beside its files.
inline constexpr const char* manifest_name = "checkpoint.json";

/// `files` of a layout: literal text with `{card}`, `{card:05}` or `{axis}`, `{axis:02}`; or each card's path, where no
/// text gives them all.
class FileTemplate {
 public:
  FileTemplate() : FileTemplate("rank_{card}.h5", Mesh{}) {}

  /// Throws layout for an unknown placeholder, an absolute path, or one that could leave the directory (`..`) or take
  /// the manifest's place. `{card}` is the card's id even where an axis has that name.
  FileTemplate(std::string text, const Mesh& mesh);

  using ByCard = std::map<std::uint64_t, std::string>;
  /// The paths of all cards, by their ids. Throws layout for paths as above, for a card without one, and for others. It
  /// may be used with a larger mesh that begins with these cards.
  FileTemplate(ByCard paths, const Mesh& mesh);

  /// Of paths by card: the first one.
  const std::string& text() const noexcept { return text_; }
  /// Null where the text gives the paths.
  const ByCard* by_card() const noexcept { return by_card_.get(); }

  /// The path, relative to the checkpoint's directory, of the card at a position.
  std::string path(const Mesh& mesh, std::uint64_t position) const;

  /// The axes whose coordinates the path names, ascending: all where it names the card.
  std::vector<std::size_t> axes(const Mesh& mesh) const;
  /// How many paths there are: those of combinations of these coordinates, or of cards, of which others may follow.
  std::uint64_t count(const Mesh& mesh) const;
  /// Whether the numbers can be read off a path again, so that no two cards have one path: digits follow none of them.
  bool is_decodable() const noexcept;

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
  std::shared_ptr<const ByCard> by_card_;
};

}  // namespace ckpt
