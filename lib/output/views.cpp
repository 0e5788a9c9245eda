#include "output/views.hpp"

#include <algorithm>
#include <numeric>

#include "output/places.hpp"

namespace ckpt {

namespace {

/// The limit for one array: a reader searches all of them.
constexpr std::size_t most_views = 1U << 16;

[[noreturn]] void refuse(const std::string& parameter, const std::string& found, const std::string& expected) {
  throw Error(Kind::usage, "parameter '" + parameter + "'", {found, expected, "", {Advice::What::write_data, ""}})
      .of_parameter(parameter);
}

/// The output's final path with its directory's links resolved; a link at the output itself is replaced. A dry run may
/// name no output.
std::filesystem::path final_place(const std::filesystem::path& output) {
  if (output.empty()) return resolved(".");
  const std::filesystem::path target = OutputPlaces(output).target;
  return resolved(target.has_parent_path() ? target.parent_path() : ".") / target.filename();
}

/// Whether both strides give the elements of a box the same order.
bool are_in_same_order(const Shape& size, const Shape& a, const Shape& b) {
  std::vector<std::size_t> dims(size.size());
  std::iota(dims.begin(), dims.end(), std::size_t{0});
  std::erase_if(dims, [&](std::size_t d) { return size[d] == 1; });
  std::sort(dims.begin(), dims.end(), [&](std::size_t x, std::size_t y) { return a[x] > a[y]; });
  return std::is_sorted(dims.begin(), dims.end(), [&](std::size_t x, std::size_t y) { return b[x] > b[y]; });
}

/// Whether the second's elements directly follow the first's in their array, which has one dimension.
bool continues(const Hyperslab& first, const Hyperslab& second) {
  if (first.stripes.size() != 1 || second.stripes.size() != 1) return false;
  const Hyperslab::Stripe& a = first.stripes[0];
  const Hyperslab::Stripe& b = second.stripes[0];
  return a.count == 1 && b.count == 1 && a.start + a.block == b.start;
}

/// The views of one array.
class ArrayViews {
 public:
  ArrayViews(const std::string& parameter, const StoredArray& theirs, std::uint32_t file, const Shape& ours,
             std::vector<View>& views)
      : parameter_(parameter), theirs_(theirs), file_(file), ours_(ours), views_(views) {}

  /// Adds a box that lies in both arrays. If it is not a regular set of elements in both, its parts may be.
  void add(const Region& theirs, const Region& ours) {
    auto from = hyperslab_of(theirs, theirs_.shape);
    auto to = hyperslab_of(ours, ours_);
    if (from && to) return put({file_, theirs_.name, std::move(*from), std::move(*to)});
    const Shape size = theirs.box.shape();
    std::size_t outermost = 0;
    for (std::size_t d = 1; d < size.size(); ++d)
      if (size[outermost] == 1 || (size[d] > 1 && theirs.strides[d] > theirs.strides[outermost])) outermost = d;
    for (std::uint64_t index = theirs.box.lo[outermost]; index < theirs.box.hi[outermost]; ++index) {
      Box part = theirs.box;
      part.set(outermost, {index, index + 1});
      add(restricted(theirs, part), restricted(ours, part));
    }
  }

 private:
  void put(View view) {
    if (!views_.empty()) {
      View& last = views_.back();
      if (last.file == view.file && last.dataset == view.dataset && continues(last.theirs, view.theirs) &&
          continues(last.ours, view.ours)) {
        last.theirs.stripes[0].block += view.theirs.stripes[0].block;
        last.ours.stripes[0].block += view.ours.stripes[0].block;
        return;
      }
    }
    if (views_.size() == most_views)
      refuse(parameter_, "its elements lie in more than " + std::to_string(most_views) + " pieces in the source",
             "fewer, to be shown");
    views_.push_back(std::move(view));
  }

  const std::string& parameter_;
  const StoredArray& theirs_;
  std::uint32_t file_;
  const Shape& ours_;
  std::vector<View>& views_;
};

}  // namespace

Views::Views(const Checkpoint& source, const Planner& planner, const Store& store, const std::filesystem::path& output,
             bool is_single_file)
    : source_(source),
      planner_(planner),
      from_(planner.source()),
      where_(planner.target()),
      output_(final_place(output)),
      is_single_file_(is_single_file) {
  if (!store.traits().shows_others)
    throw Error(
        Kind::usage, "an output of format " + std::string(store.name()),
        {"its files cannot show data of others", "one whose files can: hdf5", "", {Advice::What::write_data, ""}});
  if (!source.is_shared())
    throw Error(
        Kind::usage, "an output that shows the source's files",
        {"these lie on disks of several machines", "a file system that all share", "", {Advice::What::write_data, ""}});
  for (FileNumber file = 0; file < source.files().size(); ++file)
    if (const Schema& schema = *source.file(file).schema; source.is_there(file) && schema.format != store.name())
      throw Error(Kind::usage, source.file_name(file),
                  {"it is of format " + schema.format,
                   "files of format " + std::string(store.name()) + ", which alone can be shown",
                   "",
                   {Advice::What::write_data, ""}});
}

std::filesystem::path Views::directory_of(FileNumber file) const {
  if (is_single_file_) return output_.parent_path();
  const Placement& target = planner_.target();
  return (output_ / target.layout().files.path(target.mesh(), where_.table().owner(file), where_.table().entry(file)))
      .parent_path();
}

std::shared_ptr<const FileSpec> Views::shown(FileNumber file, const FileSpec& spec) const {
  const Placement& target = planner_.target();
  const Position card = where_.table().owner(file);
  auto shown = std::make_shared<FileSpec>(spec);
  Numbers numbers;
  std::size_t next = 0;
  for (ArrayId array = 0; array < target.arrays().size(); ++array) {
    if (where_.file(card, array) != file || !target.holds(card, array)) continue;
    FileSpec::Array& to = shown->arrays.at(next++);
    if (!to.verbatim && !to.texts) to.views = views_of(array, card, numbers);
  }
  const std::filesystem::path from = directory_of(file);
  shown->viewed.resize(numbers.size());
  for (const auto& [number, index] : numbers)
    shown->viewed[index] = {resolved(source_.file_path(number)).lexically_relative(from).string(),
                            source_.file(number).bytes};
  return shown;
}

std::vector<View> Views::views_of(ArrayId array, Position card, Numbers& numbers) const {
  const ArrayPlace& place = planner_.target().arrays()[array];
  const Shape shape = planner_.target().stored_shape(array, card);
  const std::uint64_t elements = numel(shape);
  std::vector<View> views;
  if (elements == 0) return views;
  planner_.for_each_transfer(
      {card, array, {0, elements}, elements * place.dtype.size}, 0, [&](const Transfer& transfer) {
        const Tensor& tensor = planner_.source().tensors()[transfer.parameter];
        if (!(tensor.dtype == place.dtype))
          refuse(tensor.name, "it would be cast from " + tensor.dtype.name + " to " + place.dtype.name,
                 "the source's own dtype: what is shown has no elements of its own");
        if (planner_.scaling(transfer.target) != nullptr)
          refuse(tensor.name, "the map recomputes it",
                 "elements that only move: what is shown has no elements of its own");
        add(transfer, shape, numbers, views);
      });
  return views;
}

void Views::add(const Transfer& transfer, const Shape& shape, Numbers& numbers, std::vector<View>& views) const {
  const std::string& parameter = planner_.source().tensors()[transfer.parameter].name;
  const FileNumber file = from_.file(transfer.card, transfer.array);
  const Schema& schema = *source_.file(file).schema;
  const std::size_t index = schema.find(from_.name(transfer.array));
  const Region& theirs = transfer.source;
  const Region ours{theirs.box, transfer.target_offset / transfer.element, transfer.target_strides};
  if (schema.datasets.at(index).storage == Storage::views)
    refuse(parameter, "the source " + source_.file_name(file) + " only shows it, too",
           "a source with data of its own: what shows other files cannot be shown");
  if (!are_in_same_order(theirs.box.shape(), theirs.strides, ours.strides))
    refuse(parameter, "its dimensions are stored in another order than in the source (\"permute\")",
           "the same order: what is shown keeps the order of its elements");
  const auto number = numbers.try_emplace(file, static_cast<std::uint32_t>(numbers.size())).first->second;
  StoredArray array = (*schema.arrays)[index];
  array.name = source_.layout().files.name_in_file(planner_.source().mesh(), transfer.card,
                                                   planner_.source().arrays()[transfer.array].name);
  ArrayViews(parameter, array, number, shape, views).add(theirs, ours);
}

}  // namespace ckpt
