#include "checkpoint/averaged_files.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/shell_word.hpp"
#include "checkpoint/part_of_file.hpp"
#include "checkpoint/source_reader.hpp"
#include "tensor/weighted_sum.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t least_averaged = 16ULL << 10;
constexpr std::uint64_t most_averaged = 256ULL << 10;

/// The index of a buffer's element in a region that lies in it, if it is one of the region's.
std::optional<Shape> index_at(const Region& region, std::uint64_t element) {
  if (element < region.offset) return std::nullopt;
  std::uint64_t left = element - region.offset;
  Shape index = region.box.lo;
  std::vector<std::size_t> order(region.box.rank());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return region.strides[a] > region.strides[b]; });
  for (const std::size_t d : order) {
    if (region.strides[d] == 0) continue;
    const std::uint64_t steps = std::min(left / region.strides[d], region.box[d].size() - 1);
    index[d] += steps;
    left -= steps * region.strides[d];
  }
  return left == 0 ? std::optional(index) : std::nullopt;
}

}  // namespace

/// Another checkpoint than the first, ready to be read in the first one's order.
class AveragedFiles::Other {
 public:
  Other(const AveragedSource& source, const Placement& first, std::uint64_t window_bytes, std::size_t most_open,
        SourceStore& store)
      : source_(source),
        readers_(source.placement, {}),
        planner_(source.placement, first, source.source_of, readers_, source.links),
        reader_(source.checkpoint, source.placement, store, window_bytes, most_open) {}

  const DType& dtype(ParameterId of_first) const {
    return source_.placement.tensors()[source_.source_of[of_first]].dtype;
  }

  /// Reads the elements of a region of the first one's parameter to their places among those from `begin` on.
  void read(ParameterId of_first, const Region& region, std::uint64_t begin, std::byte* out,
            std::span<std::byte> scratch) {
    planner_.for_each_transfer(of_first, region, begin, 0, [&](const Transfer& transfer) {
      reader_.read(transfer, out + transfer.target_offset, scratch);
    });
  }

 private:
  const AveragedSource& source_;
  Readers readers_;
  Planner planner_;
  SourceReader reader_;
};

/// A dataset of the first checkpoint, and how its numbers are made.
struct AveragedFiles::Array {
  ArrayId array = 0;
  Averaging::Kind kind = Averaging::Kind::own;
  DType stored;
  DType shown;
  std::vector<DType> of_others;
  std::optional<WeightedSum> sum;
  std::string name;                                            // of its first tensor
  mutable std::atomic_flag has_overflowed = ATOMIC_FLAG_INIT;  // sums of finite numbers became infinite
};

/// What each dataset of a file shows. Files that declare the same share one.
struct AveragedFiles::View {
  std::vector<std::unique_ptr<const Array>> arrays;  // by dataset; null: it is as it is stored
};

class AveragedFiles::File final : public PartOfFile {
 public:
  File(const AveragedFiles& all, Position card, std::shared_ptr<const View> view, std::unique_ptr<SourceFile> whole)
      : PartOfFile(std::move(whole), every(view->arrays.size())), all_(all), card_(card), view_(std::move(view)) {}

  void read(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    const Array* const array = view_->arrays.at(dataset).get();
    if (array == nullptr) return PartOfFile::read(dataset, offset, out);
    const std::uint64_t size = array->shown.size;
    const Interval all{offset / size, (offset + out.size()) / size};
    const std::uint64_t piece = all_.piece_elements(*array);
    for (std::uint64_t lo = all.lo; lo < all.hi; lo += piece) {
      const Interval here{lo, std::min(all.hi, lo + piece)};
      read_piece(dataset, *array, here, out.subspan((lo - all.lo) * size, here.size() * size));
    }
  }
  void read_as_stored(std::size_t dataset, std::uint64_t offset, std::span<std::byte> out) override {
    view_->arrays.at(dataset) ? read(dataset, offset, out) : PartOfFile::read_as_stored(dataset, offset, out);
  }
  std::optional<StridedForm> strided(std::size_t dataset) const override {
    return view_->arrays.at(dataset) ? std::nullopt : PartOfFile::strided(dataset);
  }
  bool will_need(std::size_t dataset, Interval bytes) override {
    return view_->arrays.at(dataset) || PartOfFile::will_need(dataset, bytes);
  }
  std::optional<LocatedExtent> located(std::size_t dataset, std::uint64_t offset) const override {
    return view_->arrays.at(dataset) ? std::nullopt : PartOfFile::located(dataset, offset);
  }

 private:
  static std::vector<std::size_t> every(std::size_t count) {
    std::vector<std::size_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    return numbers;
  }

  void read_piece(std::size_t dataset, const Array& array, Interval here, std::span<std::byte> out) {
    std::vector<std::pair<ParameterId, Region>> regions;
    all_.how_.placement.for_each_region(array.array, card_, here, [&](ParameterId parameter, const Region& region) {
      regions.emplace_back(parameter, region);
    });
    if (regions.empty()) {  // padding
      std::ranges::fill(out, std::byte{0});
      return;
    }
    const auto read_own = [&](std::byte* own, std::span<std::byte>) {
      PartOfFile::read(dataset, here.lo * array.stored.size, {own, here.size() * array.stored.size});
    };
    all_.make(array, {regions, here.lo, here.size()}, read_own, false, out.data());
  }

  const AveragedFiles& all_;
  Position card_;
  std::shared_ptr<const View> view_;
};

/// Makes the views of files.
class AveragedFiles::Builder {
 public:
  explicit Builder(AveragedFiles& made)
      : made_(made), placement_(made.how_.placement), members_(placement_.arrays().size()) {
    for (ArrayId array = 0; array < placement_.arrays().size(); ++array) {
      auto& arrays = arrays_of_[placement_.arrays()[array].name];
      arrays.push_back(array);
      are_local_ = are_local_ || arrays.size() > 1;
    }
    for (ParameterId parameter = 0; parameter < made_.how_.kinds.size(); ++parameter)
      if (made_.how_.kinds[parameter] != Averaging::Kind::own)
        members_[placement_.array_of(parameter)].push_back(parameter);
  }

  void build() {
    for (FileNumber file = 0; file < made_.catalogs_.size(); ++file) {
      const std::size_t entry = made_.first_.table().entry(file);
      std::shared_ptr<const Schema>& schema = made_.catalogs_[file].schema;
      const Position card = made_.first_.table().owner(file);
      auto& known = known_[{schema.get(), entry, are_local_ ? card : 0}];
      if (known.first == nullptr) known = show(*schema, entry, card);
      schema = known.first;
      made_.views_.push_back(known.second);
    }
  }

 private:
  using Shown = std::pair<std::shared_ptr<const Schema>, std::shared_ptr<const View>>;

  /// The array of this name on a card. Where stages number their layers locally, several arrays have one name.
  std::optional<ArrayId> array_on(Position card, const std::string& name) const {
    const auto found = arrays_of_.find(name);
    if (found == arrays_of_.end()) return std::nullopt;
    const auto here = std::ranges::find_if(found->second, [&](ArrayId array) { return placement_.holds(card, array); });
    return here == found->second.end() ? std::nullopt : std::optional(*here);
  }

  Shown show(const Schema& stored, std::size_t entry, Position card) const {
    Schema shown = stored;
    std::vector<StoredArray> arrays = *stored.arrays;
    const auto view = std::make_shared<View>();
    view->arrays.resize(arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const auto found = array_on(card, made_.first_.layout().files.stored_name(entry, arrays[i].name));
      if (!found || members_[*found].empty()) continue;
      auto array = reckoned(*found, arrays[i].dtype);
      Dataset& dataset = shown.datasets[i];
      Dataset made;
      made.storage = dataset.storage == Storage::empty ? Storage::empty : Storage::filtered;
      made.chunk_bytes = dataset.chunk_bytes;
      made.decoding_bytes = dataset.decoding_bytes;
      made.piece = std::move(dataset.piece);
      made.attributes = std::move(dataset.attributes);
      if (array->shown != array->stored)
        std::erase_if(made.attributes, [](const Attribute& each) { return each.name == "dtype"; });
      dataset = std::move(made);
      arrays[i].dtype = array->shown;
      view->arrays[i] = std::move(array);
    }
    shown.arrays = std::make_shared<const std::vector<StoredArray>>(std::move(arrays));
    return {std::make_shared<const Schema>(std::move(shown)), view};
  }

  std::unique_ptr<Array> reckoned(ArrayId number, const DType& stored) const {
    const Averaging& how = made_.how_;
    const ParameterId first = members_[number].front();
    auto array = std::make_unique<Array>();
    array->array = number;
    array->kind = how.kinds[first];
    array->name = placement_.tensors()[first].name;
    array->stored = stored;
    array->shown = how.dtypes[first];
    array->of_others = dtypes_of_others(first);
    for (const ParameterId other : members_[number])
      if (how.dtypes[other] != array->shown || dtypes_of_others(other) != array->of_others)
        throw Error(Kind::input, "parameter '" + placement_.tensors()[other].name + "'",
                    {"it lies in one array with '" + placement_.tensors()[first].name +
                         "', but has another dtype in the output, or in another checkpoint that is averaged",
                     "the same dtype for all tensors of an array", "merge each checkpoint alone, and average these"});
    if (array->kind == Averaging::Kind::equal) return array;
    std::vector<double> weights{how.weight};
    std::vector<NumberFormat> formats{number_format(stored).value()};
    for (std::size_t i = 0; i < how.others.size(); ++i) {
      weights.push_back(how.others[i].weight);
      formats.push_back(number_format(array->of_others[i]).value());
    }
    array->sum.emplace(std::move(weights), std::move(formats), number_format(array->shown).value());
    return array;
  }

  std::vector<DType> dtypes_of_others(ParameterId parameter) const {
    std::vector<DType> dtypes;
    for (const auto& other : made_.others_) dtypes.push_back(other->dtype(parameter));
    return dtypes;
  }

  AveragedFiles& made_;
  const Placement& placement_;
  std::map<std::string, std::vector<ArrayId>> arrays_of_;  // by stored name
  bool are_local_ = false;                                 // several arrays have one stored name
  std::vector<std::vector<ParameterId>> members_;          // of each array: those that are not the first one's own
  std::map<std::tuple<const Schema*, std::size_t, Position>, Shown> known_;
};

AveragedFiles::AveragedFiles(Checkpoint first, Averaging how, SourceStore& store)
    : first_(std::move(first)),
      how_(std::move(how)),
      catalogs_(first_.files()),
      sums_(how_.others.size() + 1, std::vector<PartialSum>(how_.kinds.size())) {
  const std::uint64_t window_bytes = how_.memory_bytes / 2 / (how_.others.size() + 1);
  for (const AveragedSource& each : how_.others)
    others_.push_back(std::make_unique<Other>(each, how_.placement, window_bytes, how_.most_open, store));
  own_reader_ = std::make_unique<SourceReader>(first_, how_.placement, store, window_bytes, how_.most_open);
  Builder(*this).build();
}

AveragedFiles::~AveragedFiles() = default;

/// Elements that are read at a time: from all checkpoints they take a thread's share of the memory.
std::uint64_t AveragedFiles::piece_elements(const Array& array) const {
  std::uint64_t widest = std::max(array.stored.size, array.shown.size);
  for (const DType& dtype : array.of_others) widest = std::max(widest, dtype.size);
  const std::uint64_t buffers = others_.size() + 3;
  const std::uint64_t share = how_.memory_bytes / 2 / how_.threads / buffers;
  return std::clamp(share, least_averaged, most_averaged) / widest;
}

void AveragedFiles::make(const Array& array, const Piece& piece, const ReadOwn& read_own, bool counts,
                         std::byte* out) const {
  thread_local std::vector<std::byte> memory;
  const std::uint64_t own_bytes = piece.count * array.stored.size;
  std::uint64_t bytes = own_bytes;
  for (const DType& dtype : array.of_others) bytes += piece.count * dtype.size;
  const std::uint64_t scratch_bytes = std::max(least_averaged, bytes / (others_.size() + 1));
  if (memory.size() < bytes + scratch_bytes) memory.resize(bytes + scratch_bytes);
  const auto scratch = std::span(memory).subspan(bytes, scratch_bytes);
  std::byte* at = memory.data();
  read_own(at, scratch);
  if (counts && how_.is_told) add_sums(piece, 0, array.stored, at);
  std::uint64_t held = 0;
  for (const auto& [parameter, region] : piece.regions) held += numel(region.box.shape());
  std::vector<const std::byte*> sources{at};
  at += own_bytes;
  for (std::size_t i = 0; i < others_.size(); ++i) {
    const DType& dtype = array.of_others[i];
    const bool may_lack = held < piece.count || !how_.others[i].links.empty();  // padding, here or there
    if (may_lack && array.kind == Averaging::Kind::equal) std::memcpy(at, memory.data(), own_bytes);
    if (may_lack && array.kind == Averaging::Kind::sum) std::memset(at, 0, piece.count * dtype.size);
    sources.push_back(at);
    for (const auto& [parameter, region] : piece.regions) others_[i]->read(parameter, region, piece.begin, at, scratch);
    if (counts && how_.others[i].is_told && how_.others[i].links.empty()) add_sums(piece, i + 1, dtype, at);
    at += piece.count * dtype.size;
  }
  if (array.kind == Averaging::Kind::equal) return take_equal(array, piece, sources, out);
  if (array.sum->run(sources, out, piece.count) != 0) array.has_overflowed.test_and_set();
}

void AveragedFiles::add_sums(const Piece& piece, std::size_t source, const DType& dtype, const std::byte* data) const {
  for (const auto& [parameter, region] : piece.regions) {
    const PartialSum sum = sum_of(region, dtype.size, data + (region.offset - piece.begin) * dtype.size,
                                  row_major_strides(how_.placement.tensors()[parameter].shape));
    const std::lock_guard lock(mutex_);
    sums_[source][parameter] += sum;
  }
}

void AveragedFiles::take_equal(const Array& array, const Piece& piece, std::span<const std::byte* const> sources,
                               std::byte* out) const {
  const std::uint64_t bytes = piece.count * array.stored.size;
  for (std::size_t i = 1; i < sources.size(); ++i) {
    const auto differs = std::mismatch(sources[0], sources[0] + bytes, sources[i]).first;
    if (differs == sources[0] + bytes) continue;
    const std::uint64_t element = piece.begin + static_cast<std::uint64_t>(differs - sources[0]) / array.stored.size;
    for (const auto& [parameter, region] : piece.regions) {
      const auto index = index_at(region, element);
      if (!index) continue;
      const std::string name = how_.placement.tensors()[parameter].name;
      throw Error(
          Kind::input, "parameter '" + name + "'",
          {"its element " + to_string(*index) + " (" + array.stored.name.str() + ") is another one in " +
               how_.others[i - 1].name + " than in " + how_.name,
           "the same in all: only floating-point numbers are averaged", "leave it out with --drop " + shell_word(name)})
          .of_parameter(name);
    }
  }
  std::memcpy(out, sources[0], bytes);
}

std::optional<GatherResult> AveragedFiles::read(FileNumber file, std::size_t dataset, const Transfer& transfer,
                                                std::byte* target, const Summing* summing) const {
  const Array* const array = views_[file]->arrays.at(dataset).get();
  if (array == nullptr || transfer.place.is_linked) return std::nullopt;
  const Shape shape = transfer.source.box.shape();
  const std::uint64_t most = piece_elements(*array);
  std::uint64_t rows = 1;  // of the last dimensions, as many as are whole
  for (std::size_t d = shape.size(); d-- > 0 && shape[d] != 0 && shape[d] <= most / rows;) rows *= shape[d];
  const std::uint64_t step = most / rows * rows;
  GatherResult result;
  const auto visit = [&](const Box& part) {
    Box box = part;  // of the transfer's box, whose first index is 0 here
    for (std::size_t d = 0; d < box.rank(); ++d) {
      box.lo[d] += transfer.source.box.lo[d];
      box.hi[d] += transfer.source.box.lo[d];
    }
    const std::pair<ParameterId, Region> compact{transfer.parameter, {box, 0, row_major_strides(box.shape())}};
    Transfer own = transfer;
    own.element = array->stored.size;
    own.source = restricted(transfer.source, box);
    own.target_strides = compact.second.strides;
    const auto read_own = [&](std::byte* out, std::span<std::byte> free) { own_reader_->read(own, out, free); };
    const std::uint64_t count = numel(box.shape());
    const std::uint64_t size = array->shown.size;
    const Region into = restricted({transfer.source.box, 0, transfer.target_strides}, box);
    std::byte* const to = target + into.offset * size;
    const StridedCopy copy = strided_copy(box.shape(), compact.second.strides, transfer.target_strides, size);
    thread_local std::vector<std::byte> made;
    if (copy.depth != 0 && made.size() < count * size) made.resize(count * size);
    make(*array, {{&compact, 1}, 0, count}, read_own, transfer.is_first_copy, copy.depth == 0 ? to : made.data());
    if (copy.depth != 0) run(copy, made.data(), to);
    if (summing != nullptr)
      result.sum += sum_of(into, size, to, summing->tensor_strides, summing->sets, summing->first);
    result.bytes_read += count * bytes_of_element(transfer.parameter);
  };
  for (std::uint64_t lo = 0, all = numel(shape); lo < all; lo += step)
    for_each_box(shape, {lo, std::min(all, lo + step)}, visit);
  return result;
}

std::uint64_t AveragedFiles::bytes_of_element(ParameterId parameter) const {
  std::uint64_t bytes = how_.placement.tensors()[parameter].dtype.size;
  if (how_.kinds[parameter] != Averaging::Kind::own)
    for (const auto& other : others_) bytes += other->dtype(parameter).size;
  return bytes;
}

std::vector<std::string> AveragedFiles::overflowed() const {
  std::vector<std::string> names;
  for (const auto& view : views_)
    for (const auto& array : view->arrays)
      if (array && array->has_overflowed.test()) names.push_back(array->name);
  return names;
}

std::unique_ptr<SourceFile> AveragedFiles::open(FileNumber file, SourceStore& store) const {
  return std::make_unique<File>(*this, first_.table().owner(file), views_[file], first_.open_file(file, store));
}

std::vector<const Checkpoint*> AveragedFiles::sources() const {
  std::vector<const Checkpoint*> all{&first_};
  for (const AveragedSource& other : how_.others) all.push_back(&other.checkpoint);
  return all;
}

void AveragedFiles::check_equal(const std::vector<FileNumber>& files, SourceStore& store) const {
  std::vector<std::byte> memory(most_averaged);
  for (const FileNumber number : files) {
    std::unique_ptr<SourceFile> file;
    const std::vector<StoredArray>& arrays = *catalogs_[number].schema->arrays;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Array* const array = views_[number]->arrays[i].get();
      if (array == nullptr || array->kind != Averaging::Kind::equal) continue;
      if (!file) file = open(number, store);
      const std::uint64_t bytes = numel(Shape(arrays[i].shape)) * arrays[i].dtype.size;
      const std::uint64_t step = memory.size() / arrays[i].dtype.size * arrays[i].dtype.size;
      for (std::uint64_t at = 0; at < bytes; at += step)
        file->read(i, at, std::span(memory).first(std::min(step, bytes - at)));
    }
  }
}

}  // namespace ckpt
