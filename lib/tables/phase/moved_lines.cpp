#include <algorithm>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "checkpoint/text_table.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "tables/phase/table_layers.hpp"
#include "tables/phase/text_part.hpp"

namespace ckpt {

namespace {

class MovedLines final : public TextPart {
 public:
  MovedLines(const TextContext& context, std::vector<const KeyedTable*> tables, const Layout& source,
             SharedManifest manifest)
      : TextPart(context, std::move(tables)), source_(source), manifest_(std::move(manifest)) {}

  void look(Stores& /*stores*/) override {
    most_open_ = open_files_allowed(job().resources, context_.processes);
    std::vector<TextTable> tables = find_text_tables(source_, job().source.path, context_.processes);
    agree(context_.processes, [&] {
      if (job().text_digits && tables_.size() == text_tables())
        throw Error(Kind::usage, "--digits",
                    {"the tables are Paddle's text on both sides", "a job that makes numbers text",
                     "numbers stay as they are: leave it out"});
      const NameFilter name_filter(job().names);
      std::uint64_t least_bytes = 0;  // to be written; unknown for compressed files
      for (TextTable& table : tables) {
        const auto target = std::find_if(tables_.begin(), tables_.end(),
                                         [&](const KeyedTable* each) { return each->name.text() == table.name; });
        if (target == tables_.end()) continue;
        check_same(table, **target);
        const bool is_chosen = is_text_alone(context_.target.layout()) && !job().names.takes_all();
        if (is_chosen || !name_filter.is_kept(table.name + "/keys") || !name_filter.is_kept(table.name + "/value"))
          throw Error(Kind::usage, "--only or --drop",
                      {"table '" + table.name + "' is Paddle's text on both sides, and its lines move as they are", "",
                       "leave out of both layouts the tables that you do not want"});
        if (!(*target)->text->is_gzip) least_bytes += table.bytes();
        found_.push_back(std::move(table));
      }
      check_room(least_bytes);
      if (manifest_->unread) throw Error(*manifest_->unread);
      warn_of_filtered(manifest_->tables, job().source.path);
    });
  }

  std::vector<std::filesystem::path> paths_read() const override {
    std::vector<std::filesystem::path> paths;
    for (const TextTable& table : found_) paths.insert(paths.end(), table.files.begin(), table.files.end());
    return paths;
  }

  void describe(nlohmann::json& job) const override {
    job["text"].push_back({{"lines", nlohmann::json::parse(to_json(source_))}});
    for (const TextTable& table : found_)
      for (std::uint64_t shard = 0; shard < table.shards(); ++shard) {
        const std::string name = table.files[shard].lexically_relative(this->job().source.path).string();
        job["files"][name] = {table.versions[shard].bytes, table.versions[shard].modified_ns};
      }
  }

  void report_to(Report& report) const override {
    if (report.source_cards == 0) report.source_cards = source_.mesh.size();
    for (const TextTable& table : found_) {
      report.source_files += table.shards();
      report.bytes_to_read += table.bytes();
    }
  }

  std::vector<KeptRows> kept_before(const std::string& table) const override {
    const auto told = manifest_->tables.find(table);
    return told == manifest_->tables.end() ? std::vector<KeptRows>() : all_kept(told->second);
  }

  std::vector<MovedShard> write(const KeyedTable& table, Report& report) override {
    const auto source =
        std::find_if(found_.begin(), found_.end(), [&](const auto& each) { return each.name == table.name.text(); });
    const std::uint64_t shards = table.text->shards;
    const LineMove move{*source, Regrouping(source->shards(), shards), context_.target.files(table), shards};
    const std::vector<std::uint64_t> groups = share(move.groups.groups());
    std::vector<std::vector<MovedShard>> by_group(groups.size());
    agree(context_.processes, [&] {
      const std::uint64_t together = shards / move.groups.groups();
      const LineBuffers buffers =
          line_buffers(job().resources.memory_bytes, context_.threads, together, table.text->is_gzip, most_open_);
      report.staging_bytes =
          std::max(report.staging_bytes,
                   buffers.threads * (2 * buffers.piece_bytes +
                                      together * TextOutput::memory_bytes(buffers.buffer_bytes, table.text->is_gzip)));
      for_each_in_parallel(buffers.threads, groups.size(),
                           [&](std::uint64_t n) { by_group[n] = move_group(move, table, groups[n], buffers); });
    });
    std::vector<MovedShard> moved;
    for (const auto& group : by_group) moved.insert(moved.end(), group.begin(), group.end());
    return moved;
  }

  void check_sources(Stores& /*stores*/) const override {
    if (context_.processes.rank() != 0) return;
    for (const TextTable& table : found_) check_unchanged(table, source_, job().source.path);
  }

 private:
  std::size_t text_tables() const {
    const auto& tables = context_.target.layout().tables;
    return static_cast<std::size_t>(
        std::count_if(tables.begin(), tables.end(), [](const KeyedTable& table) { return bool(table.text); }));
  }

  /// Throws unless lines have the same fields on both sides.
  void check_same(const TextTable& table, const KeyedTable& target) const {
    const Accessor& from = source_.tables[table.entry].text->accessor;
    const Accessor& to = target.text->accessor;
    if (std::tie(from.kind, from.embedx_dim, from.embed_rule, from.embedx_rule) !=
        std::tie(to.kind, to.embedx_dim, to.embed_rule, to.embedx_rule))
      throw Error(Kind::layout, "table '" + table.name + "'",
                  {context_.target.layout().origin + " has another \"accessor\" than " + source_.origin,
                   "the same: lines stay as they are", "give the target's layout the source's accessor"});
  }

  std::vector<MovedShard> move_group(const LineMove& move, const KeyedTable& table, std::uint64_t group,
                                     const LineBuffers& buffers) {
    const std::vector<std::uint64_t> shards = move.groups.targets(group);
    const GroupProgress left = context_.target.left_of(table, shards, move.targets);
    context_.target.check_held();
    const auto note = [&](const GroupProgress& progress) { context_.target.note(table, shards, progress); };
    return move_lines(move, group, buffers, job().output.fsync, context_.counters, left, note);
  }

  const Layout& source_;
  SharedManifest manifest_;
  std::size_t most_open_ = 0;
  std::vector<TextTable> found_;
};

}  // namespace

std::unique_ptr<TextPart> moved_lines(const TextContext& context, std::vector<const KeyedTable*> tables,
                                      const Layout& source, SharedManifest manifest) {
  return std::make_unique<MovedLines>(context, std::move(tables), source, std::move(manifest));
}

}  // namespace ckpt
