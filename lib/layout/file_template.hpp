#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/mesh.hpp"

namespace ckpt {

/// A checkpoint's manifest, beside its files.
inline constexpr const char* manifest_name = "checkpoint.json";

/// `files` of a layout: literal text with `{card}`, `{card:05}` or `{axis}`, `{axis:02}`.
class FileTemplate {
 public:
  FileTemplate() : FileTemplate("rank_{card}.h5", Mesh{}) {}

  /// Throws layout for an unknown placeholder, an absolute path, or one that could leave the directory (`..`) or take
  /// the manifest's place. `{card}` is the card's id even where an axis has that name.
  FileTemplate(std::string text, const Mesh& mesh);

  const std::string& text() const noexcept { return text_; }

  /// The path, relative to the checkpoint's directory, of the card at a position.
  std::string path(const Mesh& mesh, std::uint64_t position) const;

  /// Two positions whose cards would share a file, if there are any.
  struct Shared {
    std::uint64_t first;
    std::uint64_t second;
  };
  std::optional<Shared> shared_file(const Mesh& mesh) const;

 private:
  struct Piece {
    enum class What { nothing, card, axis };
    std::string literal;  ///< text before the placeholder
    What what = What::nothing;
    std::size_t axis = 0;
    std::size_t width = 0;
  };

  std::size_t parse_placeholder(std::size_t open, const Mesh& mesh, Piece& piece) const;
  void check_path() const;
  bool is_decodable() const noexcept;

  std::string text_;
  std::vector<Piece> pieces_;
};

}  // namespace ckpt
