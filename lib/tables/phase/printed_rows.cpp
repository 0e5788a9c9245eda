#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/parallel.hpp"
#include "checkpoint/carried_manifest.hpp"
#include "layout/tables/paddle_tables.hpp"
#include "tables/paddle/resumable_text.hpp"
#include "tables/paddle/shard_print.hpp"
#include "tables/paddle/spread_print.hpp"
#include "tables/phase/table_layers.hpp"
#include "tables/phase/text_part.hpp"

namespace ckpt {

namespace {

class PrintedRows final : public TextPart {
 public:
  PrintedRows(const TextContext& context, std::vector<const KeyedTable*> tables, CheckpointPlace source, bool is_all)
      : TextPart(context, std::move(tables)), source_(std::move(source)), is_all_(is_all) {}

  void look(Stores& stores) override {
    checkpoint_.emplace(Checkpoint::open(with_threads(source_, job().resources, context_.processes), stores.reading(),
                                         context_.processes));
    static_cast<void>(carried_manifest(*checkpoint_, context_.processes));
    agree(context_.processes, [&] {
      if (!checkpoint_->is_shared())
        throw Error(Kind::usage, source_.path.string(),
                    {"not every process sees the same source files", "a file system that all share",
                     "tables become text only there"});
      const Placement source = resolve(*checkpoint_).placement;
      const Selection selection = select(job().names, source);
      const std::set<ParameterId> taken(selection.source_of.begin(), selection.source_of.end());
      const std::vector<StoredTable> stored =
          stored_tables(source, [&](ParameterId parameter) { return taken.contains(parameter); });
      for (const KeyedTable* table : tables_)
        prints_.push_back(row_print(stored, checkpoint_->layout(), *table, job().text_digits.value_or(paddle_digits)));
      check_unchanged_names();
      if (is_all_) check_all_printed(selection);
      check_room(least_bytes());
      told_ = tables_in_manifest(*checkpoint_);
      warn_of_filtered(told_, source_.path);
    });
    reader_.emplace(*checkpoint_, stores.reading(), open_files_allowed(job().resources, context_.processes));
    for (RowPrint& print : prints_) look_at_rows(print);
  }

  std::vector<std::filesystem::path> paths_read() const override {
    return checkpoint_->paths_read_by(static_cast<std::uint32_t>(context_.processes.rank()),
                                      static_cast<std::uint32_t>(context_.processes.size()));
  }

  const Checkpoint* opened_source() const override { return &*checkpoint_; }

  std::vector<std::string> datasets() const override {
    std::vector<std::string> names;
    for (const RowPrint& print : prints_)
      for_each_table(print, [&](const StoredTable& table) {
        for (const TablePart& part : table.parts) names.push_back(part.name);
        if (table.shards) names.push_back(table.shards->part.name);
      });
    return names;
  }

  void describe(nlohmann::json& job) const override {
    job["text"].push_back({{"rows", nlohmann::json::parse(to_json(checkpoint_->layout()))},
                           {"digits", this->job().text_digits.value_or(paddle_digits)},
                           {"datasets", datasets()}});
    for (FileNumber file = 0; file < checkpoint_->files().size(); ++file)
      if (checkpoint_->is_there(file))
        job["files"][checkpoint_->file_name(file)] = {checkpoint_->file(file).bytes,
                                                      checkpoint_->file(file).modified_ns};
  }

  void report_to(Report& report) const override {
    if (is_all_) {
      report.source_cards = checkpoint_->layout().mesh.size();
      report.source_files += checkpoint_->files().size() - checkpoint_->missing().size();
    }
    for (const RowPrint& print : prints_)
      for_each_table(print,
                     [&](const StoredTable& table) { report.bytes_to_read += table.total_rows() * table.row_bytes(); });
  }

  std::vector<KeptRows> kept_before(const std::string& table) const override {
    const auto told = told_.find(table);
    return told == told_.end() ? std::vector<KeptRows>() : all_kept(told->second);
  }

  std::vector<MovedShard> write(const KeyedTable& table, Report& /*report*/) override {
    const auto at = std::find(tables_.begin(), tables_.end(), &table) - tables_.begin();
    RowPrint& print = prints_[static_cast<std::size_t>(at)];
    SpreadPrint* const spread = shardings_[static_cast<std::size_t>(at)].get();
    print.targets = context_.target.files(table);
    std::vector<MovedShard> printed;
    agree(context_.processes,
          [&] { printed = spread != nullptr ? print_spread(*spread, print, table) : print_grouped(print, table); });
    check_all_rows(print, printed);
    return printed;
  }

  void check_sources(Stores& stores) const override {
    for (const FileNumber file : checkpoint_->own_files(static_cast<std::uint32_t>(context_.processes.rank()),
                                                        static_cast<std::uint32_t>(context_.processes.size())))
      checkpoint_->check_unchanged(stores.reading(), file);
  }

 private:
  /// The least size of the lines, without compressed files: a digit and a blank or newline for the key and each number.
  std::uint64_t least_bytes() const {
    std::uint64_t bytes = 0;
    for (std::size_t at = 0; at < prints_.size(); ++at) {
      if (tables_[at]->text->is_gzip) continue;
      bytes += 2 * prints_[at].table.total_rows();
      for_each_table(prints_[at], [&](const StoredTable& table) {
        bytes += 2 * table.total_rows() * table.parts[RowPrint::value_part].row_elements;
      });
    }
    return bytes;
  }

  /// Visits the table, and those of its rows' tails.
  template <class Print, class Visit>
  static void for_each_table(Print& print, const Visit& visit) {
    visit(print.table);
    for (auto& [dims, tail] : print.tails) visit(tail);
  }

  /// Checks and counts rows first if they are not grouped by shard, or too many for that. Collective.
  void look_at_rows(RowPrint& print) {
    for_each_table(print, [&](StoredTable& table) { reader_->read_offsets(table, context_.processes); });
    const CensusContext context = census_context(job().resources, context_.processes);
    const std::uint64_t memory = job().resources.memory_bytes;
    agree(context_.processes,
          [&] { print.is_grouped = print.is_grouped && fits_by_shard(print, memory / context.threads); });
    auto& spread = shardings_.emplace_back();
    if (print.is_grouped) return;
    for_each_table(print, [&](const StoredTable& table) { check_keys(table, *reader_, context, context_.processes); });
    const std::size_t most_open = open_files_allowed(job().resources, context_.processes);
    const KeyedTable& target = *tables_[shardings_.size() - 1];
    agree(context_.processes, [&] {
      spread = std::make_unique<SpreadPrint>(print, share(print.shards), *reader_,
                                             SpreadContext{memory, context_.threads, most_open, target.text->is_gzip});
    });
    if (const std::uint64_t readings = context_.processes.maximum(spread->readings()); readings > 1)
      log::warn("table '{}': --memory has no room for what all its shards take together: it is read {} times",
                print.table.name, readings);
  }

  std::vector<MovedShard> print_grouped(const RowPrint& print, const KeyedTable& table) {
    const std::vector<std::uint64_t> shards = share(print.shards);
    std::vector<MovedShard> printed(shards.size());
    for_each_in_parallel(context_.threads, shards.size(), [&](std::uint64_t n) {
      if (const auto left = left_of(print, table, shards[n])) {
        printed[n] = *left;
        return;
      }
      context_.target.check_held();
      printed[n] = print_shard(print, shards[n], *reader_, job().output.fsync, context_.counters);
      note(table, printed[n]);
    });
    return printed;
  }

  std::vector<MovedShard> print_spread(SpreadPrint& spread, const RowPrint& print, const KeyedTable& table) {
    const std::vector<std::uint64_t> shards = share(table.text->shards);
    std::vector<std::optional<MovedShard>> left(shards.size());
    for_each_in_parallel(context_.threads, shards.size(),
                         [&](std::uint64_t n) { left[n] = left_of(print, table, shards[n]); });
    std::set<std::uint64_t> is_left;
    std::vector<MovedShard> printed;
    for (const auto& shard : left)
      if (shard) {
        is_left.insert(shard->shard);
        printed.push_back(*shard);
      }
    spread.write(
        [&](std::uint64_t shard) {
          context_.target.check_held();
          return !is_left.contains(shard);
        },
        [&](const MovedShard& shard) {
          note(table, shard);
          printed.push_back(shard);
        },
        job().output.fsync, context_.counters);
    return printed;
  }

  /// A shard that an earlier run wrote completely, or nothing.
  std::optional<MovedShard> left_of(const RowPrint& print, const KeyedTable& table, std::uint64_t shard) {
    const GroupProgress left = context_.target.left_of(table, {shard}, print.targets);
    if (left.sources == 0) return std::nullopt;
    truncate_to(print.targets[shard], left.written.front(), job().output.fsync);
    return MovedShard{shard, left.written.front()};
  }

  void note(const KeyedTable& table, const MovedShard& shard) const {
    context_.target.note(table, {shard.shard}, {1, {shard.written}});
  }

  /// Throws io unless every row became a line. Collective.
  void check_all_rows(const RowPrint& print, const std::vector<MovedShard>& printed) const {
    std::uint64_t mine = 0;
    for (const MovedShard& shard : printed) mine += shard.written.lines.bytes;
    const std::uint64_t lines = context_.processes.sum(mine);
    agree(context_.processes, [&] {
      if (lines == print.table.total_rows()) return;
      throw Error(
          Kind::io, "table '" + print.table.name + "'",
          {std::to_string(lines) + " lines were made of its " + std::to_string(print.table.total_rows()) + " rows",
           "one of each", "nothing is published; did a source file change meanwhile?"});
    });
  }

  /// Throws usage if the job would rename or cast datasets that become text.
  void check_unchanged_names() const {
    const NameFilter name_filter(job().names);
    const auto refuse = [](const char* object, const std::string& dataset) {
      throw Error(Kind::usage, object,
                  {dataset + " becomes text", "other parameters only", "leave it out of the option's names"});
    };
    for (const RowPrint& print : prints_)
      for_each_table(print, [&](const StoredTable& table) {
        for (const TablePart& part : table.parts) {
          if (name_filter.new_name(part.name) != part.name) refuse("--rename", part.name);
          for (const CastRule& rule : job().casts)
            if (part.dtype.is_float() && rule.names.matches(part.name)) refuse("--cast", part.name);
        }
      });
  }

  /// Throws usage for parameters of no table: text cannot hold anything else.
  void check_all_printed(const Selection& selection) const {
    const std::vector<std::string> names = datasets();
    const std::set<std::string> printed(names.begin(), names.end());
    for (const Tensor& tensor : selection.tensors)
      if (!printed.contains(tensor.name))
        throw Error(Kind::usage, "parameter " + tensor.name,
                    {"it is in no table of " + context_.target.layout().origin, "what Paddle's text has room for",
                     "leave it out (--drop), or give the target's layout \"files\" for it"});
  }

  CheckpointPlace source_;
  bool is_all_;
  std::optional<Checkpoint> checkpoint_;
  std::map<std::string, ManifestTable> told_;
  std::optional<TableReader> reader_;
  std::vector<RowPrint> prints_;                         // one for each table
  std::vector<std::unique_ptr<SpreadPrint>> shardings_;  // one for each table; null: rows are grouped by shard
};

}  // namespace

std::unique_ptr<TextPart> printed_rows(const TextContext& context, std::vector<const KeyedTable*> tables,
                                       const CheckpointPlace& source, bool is_all) {
  return std::make_unique<PrintedRows>(context, std::move(tables), source, is_all);
}

}  // namespace ckpt
