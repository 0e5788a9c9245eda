#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/parallel.hpp"
#include "checkpoint/read_manifest.hpp"
#include "jobs/reshard_plan.hpp"
#include "jobs/table_layers.hpp"
#include "jobs/text_part.hpp"
#include "paddle_files/row_print.hpp"
#include "paddle_files/text_left.hpp"

namespace ckpt {

namespace {

class PrintedRows final : public TextPart {
 public:
  PrintedRows(const TextMeans& means, std::vector<const KeyedTable*> tables, const CheckpointPlace& source, bool is_all)
      : TextPart(means, std::move(tables)), source_(source), is_all_(is_all) {}

  void look(Stores& stores) override {
    checkpoint_.emplace(Checkpoint::open(source_, stores.reading(), means_.processes));
    agree(means_.processes, [&] {
      if (!checkpoint_->is_shared())
        throw Error(Kind::usage, source_.path.string(),
                    {"not every process sees the same source files", "expected a file system that all share",
                     "tables become text only there"});
      const Placement source = resolve(*checkpoint_).placement;
      const Selection selection = select(job().names, source);
      const std::set<ParameterId> taken(selection.source_of.begin(), selection.source_of.end());
      const std::vector<StoredTable> stored =
          stored_tables(source, [&](ParameterId parameter) { return taken.contains(parameter); });
      for (const KeyedTable* table : tables_)
        prints_.push_back(row_print(stored, checkpoint_->layout(), *table, job().text_digits.value_or(paddle_digits)));
      if (is_all_) check_all_printed(selection);
      told_ = told_of_tables(*checkpoint_);
      warn_of_filtered(told_, source_.path);
    });
    reader_.emplace(*checkpoint_, stores.reading(), open_files_allowed(job().resources, means_.processes));
    for (RowPrint& print : prints_) {
      for_each_table(print, [&](StoredTable& table) { reader_->read_offsets(table, means_.processes); });
      agree(means_.processes, [&] { check_memory(print, memory_of_thread()); });
    }
  }

  std::vector<std::filesystem::path> paths_read() const override {
    return ckpt::paths_read(*checkpoint_, static_cast<std::uint32_t>(means_.processes.rank()),
                            static_cast<std::uint32_t>(means_.processes.size()));
  }

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

  void tell(Report& report) const override {
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
    print.targets = means_.target.files(table);
    const std::vector<std::uint64_t> shards = share(print.shards);
    std::vector<MovedShard> printed(shards.size());
    agree(means_.processes, [&] {
      for_each_in_parallel(means_.threads, shards.size(),
                           [&](std::uint64_t n) { printed[n] = print_one(print, table, shards[n]); });
    });
    return printed;
  }

  void check_sources(Stores& stores) const override {
    for (const FileNumber file : checkpoint_->own_files(static_cast<std::uint32_t>(means_.processes.rank()),
                                                        static_cast<std::uint32_t>(means_.processes.size())))
      checkpoint_->check_unchanged(stores.reading(), file);
  }

 private:
  /// The table, and those of its rows' tails.
  template <class Print, class Visit>
  static void for_each_table(Print& print, const Visit& visit) {
    visit(print.table);
    for (auto& [dims, tail] : print.tails) visit(tail);
  }

  std::uint64_t memory_of_thread() const { return job().resources.memory_bytes / means_.threads; }

  MovedShard print_one(const RowPrint& print, const KeyedTable& table, std::uint64_t shard) {
    const GroupProgress left = means_.target.left_of(table, {shard});
    if (left.sources != 0) {
      keep_left(print.targets[shard], left.written.front(), job().output.fsync);
      return {shard, left.written.front()};
    }
    const MovedShard printed = print_shard(print, shard, *reader_, job().output.fsync, means_.counters);
    means_.target.note(table, {shard}, {1, {printed.written}});
    return printed;
  }

  /// Text has no room for anything else.
  void check_all_printed(const Selection& selection) const {
    const std::vector<std::string> names = datasets();
    const std::set<std::string> printed(names.begin(), names.end());
    for (const Tensor& tensor : selection.tensors)
      if (!printed.contains(tensor.name))
        throw Error(
            Kind::usage, "parameter " + tensor.name,
            {"it is in no table of " + means_.target.layout().origin, "expected what Paddle's text has room for",
             "leave it out (--drop), or give the target's layout \"files\" for it"});
  }

  CheckpointPlace source_;
  bool is_all_;
  std::optional<Checkpoint> checkpoint_;
  std::map<std::string, ManifestTable> told_;
  std::optional<TableReader> reader_;
  std::vector<RowPrint> prints_;  // of the tables
};

}  // namespace

std::unique_ptr<TextPart> printed_rows(const TextMeans& means, std::vector<const KeyedTable*> tables,
                                       const CheckpointPlace& source, bool is_all) {
  return std::make_unique<PrintedRows>(means, std::move(tables), source, is_all);
}

}  // namespace ckpt
