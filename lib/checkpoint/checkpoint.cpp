#include "checkpoint/checkpoint.hpp"

#include <algorithm>
#include <set>

#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/file_views.hpp"
#include "checkpoint/one_file_each.hpp"
#include "checkpoint/read_manifest.hpp"

namespace ckpt {

namespace {

/// The layout text that a checkpoint carries, or nothing.
std::optional<std::string> layout_of(const std::filesystem::path& path, bool is_file, SourceStore& store) {
  if (!is_file) return carried_layout(path);
  const std::string text = store.catalog(path).schema->layout;
  return text.empty() ? std::nullopt : std::optional(text);
}

Layout own_layout(const std::filesystem::path& path, const std::string& carried, bool is_single_file) {
  if (!carried.empty()) return parse_layout(carried, "the layout that " + path.string() + " carries");
  if (is_single_file) return single_card();
  throw Error(Kind::usage, path.string(),
              {std::string("it carries no layout of its own (no ") + manifest_name + ")",
               "",
               "",
               {Advice::What::give_layout, ""}});
}

}  // namespace

Checkpoint Checkpoint::open(const CheckpointPlace& place, SourceStore& store, Communicator& processes) {
  const auto& [path, layout] = place;
  Checkpoint checkpoint;
  checkpoint.path_ = path;
  std::optional<std::string> carried;
  bool is_there = false;
  agree(processes, [&] {
    const auto found = store.look_at(path);
    is_there = found.has_value();
    checkpoint.is_single_file_ = found && !found->is_directory;
    if (!layout && found) carried = layout_of(path, checkpoint.is_single_file_, store);
  });
  const bool is_anywhere = processes.maximum(is_there ? 1 : 0) != 0;
  const bool is_single = processes.maximum(checkpoint.is_single_file_ ? 1 : 0) != 0;
  const auto texts = processes.all_gather(carried.value_or(""));
  agree(processes, [&] {
    if (!is_anywhere)
      throw Error(Kind::input, path.string(), {"no such file or directory", "expected a checkpoint", "check the path"});
    checkpoint.layout_ =
        layout ? *layout
               : own_layout(path, one_text(texts, "the layout that " + path.string() + " carries"), is_single);
    check_one_file_each(checkpoint.layout_);
    if (is_single && checkpoint.layout_.mesh.size() != 1)
      throw Error(Kind::usage, path.string(),
                  {"it is a single file",
                   checkpoint.layout_.origin + " has " + std::to_string(checkpoint.layout_.mesh.size()) + " cards",
                   "give the directory that holds their files"});
  });
  checkpoint.find_files(store, processes);
  checkpoint.read_metadata(store, processes);
  return checkpoint;
}

std::vector<Position> Checkpoint::own_cards(std::uint32_t process, std::uint32_t processes) const {
  const Owners owner_of = is_shared() ? Owners{} : owners(processes);
  std::vector<Position> cards;
  for (Position card = 0; card < files_.size(); ++card)
    if ((is_shared() ? card % processes : owner_of[card]) == process) cards.push_back(card);
  return cards;
}

std::filesystem::path Checkpoint::file_path(Position card) const {
  return is_single_file_ ? path_ : path_ / layout_.files.path(layout_.mesh, card);
}

std::string Checkpoint::file_name(Position card) const {
  return is_single_file_ ? path_.filename().string() : layout_.files.path(layout_.mesh, card);
}

void Checkpoint::find_files(SourceStore& store, Communicator& processes) {
  const Position cards = layout_.mesh.size();
  std::vector<SeenFile> seen(cards);
  agree(processes, [&] {
    for (Position card = 0; card < cards; ++card) {
      check_interrupt();
      if (const auto found = store.look_at(file_path(card))) seen[card] = {found->bytes, found->modified_ns};
    }
  });
  FilesTogether together = put_together(
      seen, [this](Position card) { return file_name(card); }, processes);
  if (!together.warning.empty()) spdlog::warn(together.warning);
  owners_of_unshared_ = std::move(together.owners);
  agree(processes, [&] {
    warn_of_others();
    const auto missing = std::find(together.files.begin(), together.files.end(), SeenFile{});
    if (missing == together.files.end()) return;
    throw Error(
        Kind::input, file_name(static_cast<Position>(missing - together.files.begin())),
        {"no such file in " + path_.string() + (processes.size() > 1 ? " on any process's node" : ""),
         layout_.origin + " expects " + std::to_string(cards) + (cards == 1 ? " file" : " files, one for each card"),
         "is the checkpoint complete, and the layout's mesh the one that it was saved with?"});
  });
}

/// Files of the same kind that the layout does not name: its mesh may be too small, and yet fit the files that it
/// names. A layout with `cards` means to take some only.
void Checkpoint::warn_of_others() const {
  if (is_single_file_ || !layout_.mesh.cards.empty()) return;
  std::set<std::filesystem::path> named;
  for (Position card = 0; card < layout_.mesh.size(); ++card) named.insert(file_path(card));
  std::vector<std::string> others;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error))
    if (entry.path().extension() == named.begin()->extension() && !named.contains(entry.path()))
      others.push_back(entry.path().filename().string());
  std::sort(others.begin(), others.end(), natural_less);
  if (!others.empty())
    spdlog::warn("{} does not name these files, which are left out: {}", layout_.origin, join(others));
}

void Checkpoint::read_metadata(SourceStore& store, Communicator& processes) {
  const auto readers = owners_of_unshared_;
  const auto is_mine = [&](Position card) {
    const auto reader = readers.empty() ? card % static_cast<std::uint64_t>(processes.size()) : readers[card];
    return reader == static_cast<std::uint64_t>(processes.rank());
  };
  std::vector<FileCatalog> mine;
  agree(processes, [&] {
    for (Position card = 0; card < layout_.mesh.size(); ++card) {
      if (!is_mine(card)) continue;
      check_interrupt();
      mine.push_back(store.catalog(file_path(card)));
    }
  });
  if (processes.size() == 1) {
    files_ = std::move(mine);
    return;
  }
  std::vector<std::string> messages = processes.all_gather(encode(mine));
  const std::vector<FileCatalog> all = decode_catalogs(messages);
  // Rank by rank, each one's cards in order.
  std::vector<std::size_t> next(static_cast<std::size_t>(processes.size()), 0);
  std::vector<std::size_t> counts(next.size(), 0);
  const auto reader_of = [&](Position card) { return readers.empty() ? card % next.size() : readers[card]; };
  for (Position card = 0; card < layout_.mesh.size(); ++card) ++counts[reader_of(card)];
  for (std::size_t process = 1; process < next.size(); ++process)
    next[process] = next[process - 1] + counts[process - 1];
  files_.resize(layout_.mesh.size());
  for (Position card = 0; card < layout_.mesh.size(); ++card) files_[card] = all.at(next[reader_of(card)]++);
}

std::vector<Holding> Checkpoint::holdings() const {
  std::vector<Holding> holdings;
  holdings.reserve(files_.size());
  for (const FileCatalog& file : files_) holdings.push_back(file.schema->arrays);
  return holdings;
}

Owners Checkpoint::owners(std::uint32_t processes) const {
  if (!is_shared()) return owners_of_unshared_;
  std::vector<std::uint64_t> sizes;
  for (const FileCatalog& file : files_) sizes.push_back(file.bytes);
  return in_blocks(sizes, processes);
}

void Checkpoint::check_unchanged(SourceStore& store, Position card) const {
  const auto found = store.look_at(file_path(card));
  if (!found || found->bytes != files_[card].bytes || found->modified_ns != files_[card].modified_ns)
    throw Error(Kind::input, file_name(card),
                {"it was changed while it was read", "", "", {Advice::What::wait_for_writer, ""}})
        .in_file(file_name(card));
}

}  // namespace ckpt
