#include "tables/phase/text_target.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "io/posix_file.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "processes/gather_all.hpp"
#include "tables/keyed/row_sums.hpp"
#include "tables/paddle/resumable_text.hpp"

namespace ckpt {

namespace {

// A record of the journal: `card` is the shard, `elements` ends at the file's bytes. The array's number, which no
// placement uses, encodes the table and how many sources were done.
constexpr std::uint64_t text_mark = 1ULL << 63;
constexpr unsigned sources_shift = 24;
constexpr std::uint64_t table_bits = (1ULL << sources_shift) - 1;
constexpr std::uint64_t whole_point = 1ULL << 32;  // more than Journal holds back

}  // namespace

void TextTarget::begin(const Output& output, Journal* journal, bool go_on) {
  output_ = &output;
  journal_ = journal;
  std::vector<JournalRecord> read;  // one process reads each file of the journal
  agree(processes_, [&] {
    if (processes_.rank() == 0)
      for (const KeyedTable& table : layout_.tables)
        if (table.text) std::filesystem::create_directories(output.file(table.text->directory));
    if (!go_on) return;
    read = read_journal(output.journal(), static_cast<std::uint64_t>(processes_.rank()),
                        static_cast<std::uint64_t>(processes_.size()));
    std::erase_if(read, [](const JournalRecord& record) { return (record.array & text_mark) == 0; });
  });
  for (const auto& of_process : gather_all(read, processes_))
    for (const JournalRecord& record : of_process)
      earlier_[{record.array & table_bits, record.card}][(record.array & ~text_mark) >> sources_shift] = record;
}

std::vector<std::filesystem::path> TextTarget::files(const KeyedTable& table) const {
  std::vector<std::filesystem::path> files;
  if (!is_written()) return files;
  for (const std::string& path : shard_paths(table, servers())) files.push_back(output_->file(path));
  return files;
}

void TextTarget::check_held() const {
  if (is_written()) output_->check_held();
}

GroupProgress TextTarget::left_of(const KeyedTable& table, const std::vector<std::uint64_t>& shards,
                                  const std::vector<std::filesystem::path>& files) {
  std::vector<const Notes*> notes;
  for (const std::uint64_t shard : shards) {
    const auto found = earlier_.find({number(table), shard});
    if (found == earlier_.end()) return {};
    notes.push_back(&found->second);
  }
  const auto is_of_all = [&](std::uint64_t sources) {
    return std::all_of(notes.begin(), notes.end(), [&](const Notes* each) { return each->contains(sources); });
  };
  const Notes& first = *notes.front();
  const auto last = std::find_if(first.rbegin(), first.rend(), [&](const auto& note) { return is_of_all(note.first); });
  if (last == first.rend()) return {};
  GroupProgress progress{last->first, {}};
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const JournalRecord& record = notes[i]->at(progress.sources);
    const auto left = resumable_text(files[shards[i]], record.elements.hi);
    if (!left || !(left->content == record.read)) return {};
    progress.written.push_back(*left);
  }
  for (const WrittenText& file : progress.written) bytes_left_ += file.bytes;
  return progress;
}

void TextTarget::note(const KeyedTable& table, const std::vector<std::uint64_t>& shards,
                      const GroupProgress& progress) const {
  if (journal_ == nullptr) return;
  const std::uint64_t array = text_mark | progress.sources << sources_shift | number(table);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const WrittenText& written = progress.written[i];
    const bool is_last = i + 1 == shards.size();  // the group's notes are complete: write them down at once
    journal_->note({shards[i], array, {0, written.bytes}, written.content}, is_last ? whole_point : 0);
  }
}

void TextTarget::add(const KeyedTable& table, const std::vector<MovedShard>& mine, std::vector<KeptRows> kept_before,
                     Report& report) {
  std::vector<ShardMessage> told;
  Table& added =
      tables_.emplace_back(Table{&table, {}, {}, servers_of_shards(table, servers()), std::move(kept_before)});
  for (const MovedShard& shard : mine) {
    told.push_back({shard.shard, shard.written.bytes, shard.written.lines, shard.written.content});
    added.own.push_back(shard.shard);
  }
  for (const auto& of_process : gather_all(told, processes_))
    added.shards.insert(added.shards.end(), of_process.begin(), of_process.end());
  std::sort(added.shards.begin(), added.shards.end(), [](const auto& a, const auto& b) { return a.shard < b.shard; });
  Report::TableUse& use = report.tables.emplace_back();
  use.name = table.name.text();
  use.is_text = true;
  use.rows.resize(servers());
  for (const ShardMessage& shard : added.shards) {
    use.rows[added.servers[shard.shard]] += shard.lines.bytes;
    if (is_written() || !table.text->is_gzip) report.bytes_to_write += shard.bytes;  // else the size is unknown
  }
}

void TextTarget::reread(unsigned threads, std::size_t piece_bytes) {
  agree(processes_, [&] {
    for (const Table& table : tables_) {
      const std::vector<std::filesystem::path> paths = files(*table.said);
      for_each_in_parallel(threads, table.own.size(),
                           [&](std::uint64_t n) { reread(table, paths[table.own[n]], table.own[n], piece_bytes); });
    }
  });
}

void TextTarget::reread(const Table& table, const std::filesystem::path& path, std::uint64_t shard,
                        std::size_t piece_bytes) {
  const PosixFile file = PosixFile::open_for_writing(path);
  file.sync();
  file.drop_cached();
  const RowFields fields(table.said->text->accessor);
  if (!(sum_lines(path, fields, {shard, table.said->text->shards}, piece_bytes) == table.shards[shard].lines))
    throw Error(Kind::io, path.string(),
                {"its lines, read back, are not those that were written", "equal sums",
                 "nothing is published; is the storage in order?"});
}

ManifestTable TextTarget::summary(const Table& table) const {
  ManifestTable summary{table.said->name.text(), {"lines"}, std::vector<std::uint64_t>(servers()), {}, {}};
  summary.kept_before = table.kept_before;
  std::vector<PartialSum> of_server(servers());
  PartialSum all;
  for (const ShardMessage& shard : table.shards) {
    summary.rows[table.servers[shard.shard]] += shard.lines.bytes;
    of_server[table.servers[shard.shard]] += shard.lines;
    all += shard.lines;
  }
  if (!is_verified()) return summary;
  summary.all.push_back(row_fingerprint(all));
  for (const PartialSum& sum : of_server) summary.servers.push_back({row_fingerprint(sum)});
  return summary;
}

std::vector<ManifestFile> TextTarget::manifest_files() const {
  std::vector<ManifestFile> files;
  for (const Table& table : tables_) {
    const auto paths = shard_paths(*table.said, servers());
    for (const ShardMessage& shard : table.shards)
      files.push_back({paths[shard.shard], layout_.mesh.card(table.servers[shard.shard]), shard.bytes,
                       is_verified() ? to_string(fingerprint(shard.content, paths[shard.shard])) : ""});
  }
  return files;
}

std::vector<ManifestTable> TextTarget::manifest_tables() const {
  std::vector<ManifestTable> tables;
  for (const Table& table : tables_) tables.push_back(summary(table));
  return tables;
}

}  // namespace ckpt
