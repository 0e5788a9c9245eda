#include "diagnosis/draft/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "base/parallel.hpp"
#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "checkpoint/checkpoint.hpp"
#include "checkpoint/file_cache.hpp"
#include "checkpoint/reference.hpp"
#include "checkpoint/stored_sample.hpp"
#include "diagnosis/draft/attempt.hpp"
#include "diagnosis/draft/card_order.hpp"
#include "diagnosis/draft/card_parts.hpp"
#include "diagnosis/draft/evidence.hpp"
#include "diagnosis/draft/facts.hpp"
#include "diagnosis/draft/file_names.hpp"
#include "diagnosis/draft/mesh_factors.hpp"
#include "diagnosis/draft/proof.hpp"
#include "diagnosis/draft/questions.hpp"
#include "diagnosis/draft/renames.hpp"
#include "layout/names/naming.hpp"

namespace ckpt::drafting {

namespace {

constexpr std::uint64_t window_bytes = 64ULL << 20;

/// The data of a checkpoint's files, as the cards store it. It refers to checkpoint and store.
class StoredFiles final : public CardData {
 public:
  /// `most_open`: how many files may be open at a time (`files_in_cache`).
  StoredFiles(const Checkpoint& checkpoint, SourceStore& store, std::size_t most_open)
      : checkpoint_(checkpoint), files_(most_open, [&checkpoint, &store](FileNumber file) {
          return std::shared_ptr<SourceFile>(checkpoint.open_file(file, store));
        }) {}

  /// All names, sorted, and a sample of what each card stores under them; `threads` threads read.
  std::vector<NameFacts> facts(unsigned threads) {
    const std::uint64_t count = checkpoint_.files().size();
    std::vector<std::vector<StoredSample>> sampled(count);
    for_each_in_parallel(threads, count, [&](FileNumber file) {
      const std::size_t datasets = checkpoint_.file(file).schema->datasets.size();
      for (std::size_t dataset = 0; dataset < datasets; ++dataset) sampled[file].push_back(sample(file, dataset));
    });
    struct NaturalOrder {
      bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
    };
    struct Values {
      std::string value;
      bool is_constant = true;
    };
    std::map<std::string, NameFacts, NaturalOrder> by_name;
    std::map<std::string, Values> values;
    const std::uint64_t cards = checkpoint_.layout().mesh.size();
    for (FileNumber file = 0; file < count; ++file) {
      const std::vector<StoredArray>& arrays = *checkpoint_.file(file).schema->arrays;
      for (std::size_t dataset = 0; dataset < arrays.size(); ++dataset) {
        const std::string& name = arrays[dataset].name;
        NameFacts& facts = by_name[name];
        facts.pieces.resize(cards);
        const StoredSample& found = sampled[file][dataset];
        facts.pieces[checkpoint_.table().owner(file)] = {&arrays[dataset], found.digest};
        if (found.is_empty) continue;
        Values& known = values[name];
        if (known.value.empty()) known.value = found.value;
        known.is_constant = known.is_constant && !found.value.empty() && found.value == known.value;
      }
    }
    std::vector<NameFacts> result;
    for (auto& [name, facts] : by_name) {
      facts.stored = name;
      facts.name = name;
      facts.is_constant = values[name].is_constant;
      result.push_back(std::move(facts));
    }
    return result;
  }

  void read(Position card, const std::string& stored, Interval elements, std::span<std::byte> out) override {
    const FileNumber file = checkpoint_.table().of(card, 0);
    read(file, checkpoint_.file(file).schema->find(stored), elements, out);
  }

  std::uint64_t bytes_read() const noexcept { return bytes_; }

 private:
  StoredSample sample(FileNumber file, std::size_t dataset) {
    StoredSample found = stored_sample(*files_.get(file), *checkpoint_.file(file).schema, dataset);
    bytes_ += found.bytes;
    return found;
  }

  void read(FileNumber file, std::size_t dataset, Interval elements, std::span<std::byte> out) {
    const std::uint64_t element = (*checkpoint_.file(file).schema->arrays)[dataset].dtype.size;
    files_.get(file)->read(dataset, elements.lo * element, out);
    bytes_ += out.size();
  }

  const Checkpoint& checkpoint_;
  FileCache<SourceFile> files_;
  std::atomic<std::uint64_t> bytes_ = 0;
};

/// A reference's tensors, and its data if it has any. It refers to the reference and the store.
class ReferenceTensors final : public WholeTensors {
 public:
  ReferenceTensors(const Reference& reference, std::optional<Tolerance> tolerance, SourceStore& store,
                   std::size_t most_open)
      : reference_(reference), tolerance_(tolerance) {
    if (reference.data() != nullptr)
      reader_ = std::make_unique<ReferenceReader>(reference, store, window_bytes, most_open);
  }

  const std::vector<Tensor>& tensors() const override { return reference_.tensors(); }
  bool has_data() const override { return reader_ != nullptr; }
  std::optional<Tolerance> tolerance() const override { return tolerance_; }

  void take_shapes_alone() { reader_.reset(); }

  void read(const std::string& name, const Box& box, std::span<std::byte> out) override {
    if (out.empty()) return;
    bytes_ += out.size();
    reader_->read(*reference_.find(name), box, out);
  }

  std::uint64_t bytes_read() const noexcept { return bytes_; }

 private:
  const Reference& reference_;
  std::optional<Tolerance> tolerance_;
  std::unique_ptr<ReferenceReader> reader_;
  std::uint64_t bytes_ = 0;
};

class Drafter {
 public:
  Drafter(const DraftJob& job, SourceStore& store)
      : job_(job),
        store_(store),
        threads_(thread_count(job.resources, *single_process())),
        most_open_(files_in_cache(threads_)) {}

  Draft draft() {
    for (const FileCatalog& catalog : job_.files.catalogs) draft_.bytes += catalog.bytes;
    Layout layout = with_files();
    std::optional<Checkpoint> checkpoint = opened(layout);
    std::optional<StoredFiles> opened_files(std::in_place, *checkpoint, store_, most_open_);
    std::vector<NameFacts> facts = opened_files->facts(threads_);
    leave_out_unreadable(facts);
    CardParts parts = find_card_parts(facts, layout.mesh);
    if (!parts.renames.empty()) {
      draft_.bytes_read += opened_files->bytes_read();
      layout = with_parts(std::move(layout), std::move(parts.renames));
      opened_files.reset();
      checkpoint = opened(layout);
      facts = opened_files.emplace(*checkpoint, store_, most_open_).facts(threads_);
      leave_out_unreadable(facts);
      name(layout, facts);
    }
    StoredFiles& files = *opened_files;
    std::erase_if(facts, [&](const NameFacts& fact) { return parts.open.contains(fact.name); });
    if (!job_.mesh && layout.mesh.axes == std::vector<std::string>{"card"}) find_mesh(layout, facts);
    if (job_.reference != nullptr) {
      whole_ = std::make_unique<ReferenceTensors>(*job_.reference, job_.tolerance, store_, most_open_);
      rename(layout, facts);
    }
    best_ = attempt(layout, facts, files, whole_.get(), job_.unfused);
    if (take_shapes_of_another_step(facts, files)) best_ = attempt(layout, facts, files, whole_.get(), job_.unfused);
    if (!best_.open.empty() && job_.mesh) try_other_meshes(layout, facts, files);
    if (!best_.open.empty()) try_other_orders(layout, facts, files);
    if (job_.mesh) add_order_note();
    if (job_.mesh && !best_.open.empty()) add_mesh_note(facts);
    draft_.bytes_read += files.bytes_read() + (whole_ ? whole_->bytes_read() : 0);
    draft_.layout = best_.with_rules();
    if (reopen_refuted()) draft_.layout = best_.with_rules();
    draft_.open = best_.open;
    draft_.open.merge(parts.open);
    for (const Pattern& pattern : job_.may_be_missing)
      for (const std::string& name : best_.missing)
        if (pattern.matches(name)) draft_.open.erase(name);
    draft_.notes.insert(draft_.notes.end(), best_.notes.begin(), best_.notes.end());
    return std::move(draft_);
  }

 private:
  /// A layout that names the cards' files.
  Layout with_files() const {
    const FoundFiles& source = job_.files;
    Layout layout = single_card();
    layout.origin = "the draft";
    layout.default_rule = Default::error;
    if (source.is_single_file) return layout;
    FileNames names = read_file_names(source.names, job_.mesh);
    layout.mesh = std::move(names.mesh);
    layout.files = CardFiles({{FileTemplate(names.files, layout.mesh), ""}});
    return layout;
  }

  /// The checkpoint in the layout's arrangement.
  Checkpoint opened(Layout layout) const {
    return arranged(job_.files, std::move(layout),
                    {"no such file", "the names of the others ask for it", "is the checkpoint complete?"});
  }

  /// Leaves out what cannot be read: a rule for it would be useless, since it is not moved, and must be excluded by
  /// name.
  void leave_out_unreadable(std::vector<NameFacts>& facts) {
    std::erase_if(facts, [&](const NameFacts& fact) {
      const auto refused = std::find_if(fact.pieces.begin(), fact.pieces.end(), [](const Piece& piece) {
        return piece.array != nullptr && piece.array->refusal;
      });
      if (refused == fact.pieces.end()) return false;
      std::string note = fact.stored + " cannot be read, so it has no rule, and programs need --drop " +
                         shell_word(fact.stored) + ": " + refused->array->refusal->what();
      if (std::find(draft_.notes.begin(), draft_.notes.end(), note) == draft_.notes.end())
        draft_.notes.push_back(std::move(note));
      return true;
    });
  }

  /// Looks for axes along which cards are equal.
  void find_mesh(Layout& layout, const std::vector<NameFacts>& facts) {
    std::vector<Classes> classes;
    for (const NameFacts& fact : facts)
      if (!fact.is_constant) classes.push_back(classes_of(fact.pieces));
    auto mesh = mesh_of_classes(classes);
    if (!mesh) return;
    mesh->cards = layout.mesh.cards;
    const std::string path = layout.files.entries().front().path.text();
    layout.mesh = *std::move(mesh);
    layout.files = CardFiles({{FileTemplate(path, layout.mesh), ""}});
    draft_.notes.push_back("which cards hold what, and which the same, is explained best by the mesh " +
                           format_list(layout.mesh.shape) + ": rename its axes as you like");
  }

  void rename(Layout& layout, std::vector<NameFacts>& facts) const {
    std::vector<std::string> stored;
    std::vector<std::string> expected;
    for (const NameFacts& fact : facts) stored.push_back(fact.stored);
    for (const Tensor& tensor : job_.reference->tensors()) expected.push_back(tensor.name);
    if (layout.rename.empty()) layout.rename = find_renames(stored, expected);
    name(layout, facts);
  }

  static void name(const Layout& layout, std::vector<NameFacts>& facts) {
    const Naming naming(layout);
    for (NameFacts& fact : facts) fact.name = naming.renamed(fact.stored);
  }

  /// Adds renames for names that state whose piece an array is.
  Layout with_parts(Layout layout, std::vector<Rename> renames) {
    for (const Rename& rename : renames)
      draft_.notes.push_back("names like \"" + rename.of_card + "\" are taken for the pieces of one parameter, " +
                             "for each card has those of its own number alone");
    layout.rename = std::move(renames);
    return checked(layout);
  }

  /// If the given order of the axes leaves something open, tries whether another order leaves less.
  void try_other_meshes(const Layout& layout, const std::vector<NameFacts>& facts, StoredFiles& files) {
    constexpr std::size_t most_axes = 4;
    const std::string path = layout.files.entries().front().path.text();
    if (layout.mesh.axes.size() > most_axes || path.find("{card") == std::string::npos) return;
    const std::size_t open_as_given = best_.open.size();
    std::vector<Axis> order(layout.mesh.axes.size());
    std::iota(order.begin(), order.end(), Axis{0});
    while (std::next_permutation(order.begin(), order.end())) {
      Layout other = layout;
      for (Axis place = 0; place < order.size(); ++place) {
        other.mesh.axes[place] = layout.mesh.axes[order[place]];
        other.mesh.shape[place] = layout.mesh.shape[order[place]];
      }
      if (other.mesh.shape == layout.mesh.shape) continue;  // differs only in names, which bytes do not show
      other.files = CardFiles({{FileTemplate(path, other.mesh), ""}});
      Attempt result = attempt(std::move(other), facts, files, whole_.get(), job_.unfused);
      if (result.open.size() >= best_.open.size()) continue;
      best_ = std::move(result);
    }
    if (best_.layout.mesh != layout.mesh)
      draft_.notes.push_back("by the bytes the axes stand in the order " + axes_text(best_.layout.mesh) +
                             ", not in that of " + axes_text(layout.mesh) + ", which leaves " +
                             std::to_string(open_as_given) + " parameters open");
  }

  static std::string axes_text(const Mesh& mesh) {
    std::vector<std::string> words;
    for (Axis axis = 0; axis < mesh.axes.size(); ++axis)
      words.push_back(mesh.axes[axis] + "=" + std::to_string(mesh.shape[axis]));
    return join(words, words.size());
  }

  /// Whether the reference's values are those of another step: of all parameters whose values are known, none is as the
  /// cards have it, and not even the first elements of one are. Then only its shapes count.
  bool take_shapes_of_another_step(const std::vector<NameFacts>& facts, StoredFiles& files) {
    if (best_.open.empty() || !whole_ || !whole_->has_data() || job_.tolerance) return false;
    std::set<std::string> decided;
    for (const ParameterRule& rule : best_.decided) decided.insert(rule.name);
    constexpr double near = 0.3;  // unrelated values of one size differ by 1.4
    bool is_compared = false;
    std::optional<double> farthest;  // of those that are near: biases that were zero are not
    for (const Question& question : ask(best_.layout, facts, whole_.get()).all) {
      if (!question.has_data || question.is_constant || !question.first().dtype.is_float()) continue;
      if (decided.contains(question.name)) return false;
      const std::optional<double> difference = difference_at_start(question, files);
      if (!difference) continue;
      if (*difference == 0) return false;
      is_compared = true;
      if (*difference < near) farthest = std::max(farthest.value_or(0), *difference);
    }
    if (!is_compared) return false;
    std::string note = "the values of " + job_.reference->origin() +
                       " are not those of this checkpoint: of another step? Only its shapes are used";
    if (farthest)
      note += fmt::format("; --tolerance {:.2} compares values that are near", std::max(0.01, 1.5 * *farthest));
    draft_.notes.push_back(std::move(note));
    whole_->take_shapes_alone();
    return true;
  }

  /// How far a parameter's first elements in its last dimension, which any cut leaves on the first card, are from the
  /// reference's: by root mean squares. Nothing if they cannot be compared.
  std::optional<double> difference_at_start(const Question& question, StoredFiles& files) {
    const Shape& stored = question.first().shape;
    if (stored.empty() || numel(stored) == 0 || question.expected->size() != stored.size()) return std::nullopt;
    constexpr std::uint64_t most = 64;
    const std::size_t last = stored.size() - 1;
    const std::uint64_t count = std::min({most, stored[last], (*question.expected)[last]});
    Box box{Shape(stored.size(), 0), Shape(stored.size(), 1)};
    box.set(last, {0, count});
    const DType& ours = question.first().dtype;
    const DType& theirs = whole_->find(question.name)->dtype;
    std::vector<std::byte> our_bytes(count * ours.size);
    std::vector<std::byte> their_bytes(count * theirs.size);
    files.read(first_holder(question.pieces), question.stored, {0, count}, our_bytes);
    whole_->read(question.name, box, their_bytes);
    if (are_same(ours, our_bytes, theirs, their_bytes)) return 0;
    Likeness likeness(ours, theirs, Tolerance{});
    likeness.add(our_bytes, their_bytes);
    return likeness.relative_difference();
  }

  /// If the given mesh leaves something open, another may explain which cards hold the same.
  void add_mesh_note(const std::vector<NameFacts>& facts) {
    std::vector<Classes> classes;
    for (const NameFacts& fact : facts)
      if (!fact.is_constant) classes.push_back(classes_of(fact.pieces));
    const auto mesh = mesh_of_classes(classes);
    if (!mesh) return;
    const auto sizes = [](const Mesh& of) {
      std::vector<std::uint64_t> longer(of.shape.begin(), of.shape.end());
      std::erase(longer, std::uint64_t{1});
      std::sort(longer.begin(), longer.end());
      return longer;
    };
    if (sizes(*mesh) == sizes(best_.layout.mesh)) return;
    Mesh named = *mesh;
    if (named.axes.size() == 2) named.axes = {"dp", "tp"};
    std::string option;
    for (Axis axis = 0; axis < named.axes.size(); ++axis)
      option += (axis == 0 ? "" : ",") + named.axes[axis] + "=" + std::to_string(named.shape[axis]);
    draft_.notes.push_back("which cards hold the same is explained by a mesh of " + format_list(mesh->shape) +
                           ", not by " + axes_text(best_.layout.mesh) + "; try --mesh " + option);
  }

  /// Bytes cannot distinguish axes of one size, but frameworks name those along which cards hold copies.
  void add_order_note() {
    static const std::set<std::string> copying{"dp", "ddp", "data", "replica", "replicate", "dp_replicate"};
    static const std::set<std::string> cutting{"tp", "mp", "model", "tensor"};
    const Mesh& mesh = best_.layout.mesh;
    std::vector<bool> is_used(mesh.axes.size(), false);
    for (const ParameterRule& each : best_.decided)
      for (const auto& axes : each.keys.split.value_or(std::vector<std::vector<Axis>>{}))
        for (const Axis axis : axes) is_used[axis] = true;
    if (!best_.layout.buckets.empty()) return;
    for (Axis copies = 0; copies < mesh.axes.size(); ++copies)
      for (Axis cuts = 0; cuts < mesh.axes.size(); ++cuts) {
        if (mesh.shape[copies] != mesh.shape[cuts] || !copying.contains(mesh.axes[copies]) || !is_used[copies] ||
            !cutting.contains(mesh.axes[cuts]) || is_used[cuts])
          continue;
        Mesh other = mesh;
        std::swap(other.axes[copies], other.axes[cuts]);
        draft_.notes.push_back("cards differ along what is called " + mesh.axes[copies] + ", and hold copies along " +
                               mesh.axes[cuts] + ": is the order of the axes " + axes_text(other) + "?");
      }
  }

  /// If the order of the ids leaves something open, the data may prove another order.
  void try_other_orders(const Layout& layout, const std::vector<NameFacts>& facts, StoredFiles& files) {
    if (!whole_ || !whole_->has_data() || !layout.files.is_one_each(layout.mesh)) return;
    const Questions questions = ask(layout, facts, whole_.get());
    for (const auto& order : card_orders(layout.mesh, questions.all, files, *whole_)) {
      Layout other = layout;
      other.mesh.cards.clear();
      for (const std::uint64_t card : order) other.mesh.cards.push_back(layout.mesh.card(card));
      std::vector<NameFacts> moved = facts;
      for (std::size_t name = 0; name < facts.size(); ++name)
        for (Position position = 0; position < order.size(); ++position)
          moved[name].pieces[position] = facts[name].pieces[order[position]];
      const Checkpoint checkpoint = opened(other);
      StoredFiles moved_files(checkpoint, store_, most_open_);
      Attempt result = attempt(std::move(other), std::move(moved), moved_files, whole_.get(), job_.unfused);
      draft_.bytes_read += moved_files.bytes_read();
      if (result.open.size() < best_.open.size()) best_ = std::move(result);
      if (best_.open.empty()) return;
    }
  }

  /// Reopens whatever the complete data refutes; returns whether there is anything.
  bool reopen_refuted() {
    std::set<std::string> taken;
    for (const ParameterRule& decided : best_.decided) taken.insert(decided.name);
    for (const Bucket& bucket : best_.layout.buckets)
      for (const BucketMember& member : bucket.members) taken.insert(member.name);
    if (taken.empty()) return false;
    const Checkpoint checkpoint = opened(draft_.layout);
    const bool has_values = whole_ && whole_->has_data();
    const Refutations refuted = refute({checkpoint, has_values ? job_.reference : nullptr, job_.tolerance,
                                        [&](const std::string& name) { return taken.contains(name); }},
                                       job_.resources, store_, draft_.bytes_read);
    for (const auto& [name, why] : refuted)
      best_.open[name] = {"what its samples say is not so for the whole: " + why, {}, "its rule"};
    std::erase_if(best_.decided, [&](const ParameterRule& decided) { return refuted.contains(decided.name); });
    open_buckets(refuted);
    return !refuted.empty();
  }

  /// Reopens a bucket with a refuted member, all its members, and other buckets of its stored name.
  void open_buckets(const Refutations& refuted) {
    std::map<std::string, std::string> why_of;
    for (const Bucket& bucket : best_.layout.buckets)
      for (const BucketMember& member : bucket.members)
        if (const auto why = refuted.find(member.name); why != refuted.end())
          why_of[bucket.name] = why->second + " (" + member.name + ")";
    for (const Bucket& bucket : best_.layout.buckets) {
      const auto why = why_of.find(bucket.name);
      if (why == why_of.end()) continue;
      const Open open{"a bucket by its samples, not by the whole: " + why->second, {}, "its members and their order"};
      best_.open[bucket.name] = open;
      for (const BucketMember& member : bucket.members) best_.open[member.name] = open;
    }
    std::erase_if(best_.layout.buckets, [&](const Bucket& bucket) { return why_of.contains(bucket.name); });
  }

  const DraftJob& job_;
  SourceStore& store_;
  unsigned threads_;
  std::size_t most_open_;
  Draft draft_;
  std::unique_ptr<ReferenceTensors> whole_;
  Attempt best_;
};

}  // namespace

Draft make_draft(const DraftJob& job, SourceStore& store) {
  return Drafter(job, store).draft();
}

}  // namespace ckpt::drafting
