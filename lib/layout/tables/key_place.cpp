#include "layout/tables/key_place.hpp"

#include <bit>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "layout/tables/table_json.hpp"
#include "tensor/mix.hpp"

namespace ckpt {

namespace {

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15;  // the increment of SplitMix64's state

/// The finalizer of MurmurHash3's 128-bit variant (Appleby).
std::uint64_t murmur3_fmix64(std::uint64_t x) noexcept {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

/// Returns the remainder of a key taken as a signed number; KeyPlace::nowhere if it is negative.
std::uint64_t signed_remainder(std::uint64_t key, const Divisor& divisor, Signedness sign) noexcept {
  if (key >> 63 == 0) return divisor.remainder(key);
  if (sign == Signedness::floor) return divisor.by() - 1 - divisor.remainder(~key);
  return divisor.remainder(0 - key) == 0 ? 0 : KeyPlace::nowhere;
}

/// The largest key equals `nowhere` but is valid: only values that an earlier step may have lost are skipped.
template <class Function>
void for_each_placed(std::span<std::uint64_t> values, bool may_be_lost, const Function& function) {
  for (std::uint64_t& value : values)
    if (!may_be_lost || value != KeyPlace::nowhere) value = function(value);
}

}  // namespace

Divisor::Divisor(std::uint64_t by) : by_(by) {
  const auto bits = static_cast<unsigned>(by == 1 ? 0 : std::bit_width(by - 1));  // 2^bits is at least `by`
  const Wide power = static_cast<Wide>(1) << bits;
  multiplier_ = static_cast<std::uint64_t>(((power - by) << 64) / by + 1);
  first_shift_ = bits == 0 ? 0 : 1;
  second_shift_ = bits == 0 ? 0 : bits - 1;
}

KeyPlace::KeyPlace(const std::vector<PlaceStep>& steps, std::uint64_t servers, const RefuseStep& refuse_step)
    : servers_(servers), refuse_(&refuse_step) {
  for (index_ = 0; index_ < steps.size(); ++index_) add(steps[index_], index_);
  index_ = steps.empty() ? 0 : steps.size() - 1;
  const std::string most = "a last step whose values are below the " + std::to_string(servers) + " servers";
  if (sign_ != Signedness::none) refuse("a \"signed\" that no \"mod\" follows", "a \"mod\" after it");
  if (!range_) refuse("values without a bound", most, "end with {\"mod\": \"servers\"} or \"blocks\"");
  if (*range_ > servers_)
    refuse("values up to " + std::to_string(*range_ - 1), most, "end with {\"mod\": \"servers\"} or \"blocks\"");
  refuse_ = nullptr;
}

void KeyPlace::refuse(const std::string& found, const std::string& expected, const std::string& remedy) const {
  if (*refuse_) (*refuse_)(index_, {found, expected, remedy});
  throw Error(Kind::layout, std::to_string(index_), {found, expected, remedy});
}

void KeyPlace::add(const PlaceStep& step, std::size_t index) {
  shards_.reset();
  if (const auto* said = std::get_if<place_step::Mod>(&step)) return steps_.push_back(mod(*said));
  if (const auto* said = std::get_if<place_step::Blocks>(&step)) return steps_.push_back(blocks(*said));
  if (const auto* said = std::get_if<place_step::AsSigned>(&step)) {
    if (range_) refuse(to_json(step) + " after a step that gives no negative numbers", "it before them");
    sign_ = said->how;
    return;
  }
  if (const auto* said = std::get_if<place_step::Field>(&step)) {
    if (index != 0) refuse(to_json(step) + " after another step", "it first: it stands in the place of the key");
    field_ = said->name;
    return;
  }
  if (sign_ != Signedness::none) refuse(to_json(step) + " after \"signed\"", "a \"mod\" after it");
  if (const auto* said = std::get_if<place_step::Rows>(&step)) range_ = said->count;
  if (const auto* said = std::get_if<place_step::Mask>(&step)) {
    // The largest value has all bits of the mask.
    range_ = said->bits == ~std::uint64_t{0} ? std::nullopt : std::optional(said->bits + 1);
  }
  if (std::holds_alternative<place_step::Hash>(step)) {
    if (may_be_lost_) refuse(to_json(step) + " after a step that no value of some keys passes", "it before them");
    range_.reset();
  }
  steps_.push_back({step, std::nullopt, Signedness::none, 0, may_be_lost_});
  may_be_lost_ = may_be_lost_ || std::holds_alternative<place_step::Rows>(step);
}

KeyPlace::Step KeyPlace::mod(const place_step::Mod& said) {
  const std::uint64_t by = said.by == 0 ? servers_ : said.by;
  const Step step{said, Divisor(by), sign_, 0, may_be_lost_};
  if (said.by == 0 && sign_ == Signedness::none) shards_ = range_;
  range_ = by;
  may_be_lost_ = may_be_lost_ || sign_ == Signedness::truncate;
  sign_ = Signedness::none;
  return step;
}

KeyPlace::Step KeyPlace::blocks(const place_step::Blocks& said) {
  if (!range_ || sign_ != Signedness::none)
    refuse("blocks of values without a bound", "a step before it that bounds them",
           "say {\"mod\": N} or {\"rows\": N} before it");
  if (said.uneven == Uneven::exact && *range_ % servers_ != 0)
    refuse(std::to_string(*range_) + " values in \"exact\" blocks",
           "a multiple of the " + std::to_string(servers_) + " servers", "say \"ceil\" or \"balanced\"");
  const bool is_balanced = said.uneven == Uneven::balanced;
  Step step{said, std::nullopt, Signedness::none, is_balanced ? *range_ % servers_ : 0, may_be_lost_};
  const std::uint64_t each = is_balanced ? *range_ / servers_ : ceil_div(*range_, servers_);
  if (each != 0) step.divisor.emplace(each);  // otherwise each of the first has one value, and the others have none
  shards_ = std::exchange(range_, servers_);
  return step;
}

void KeyPlace::apply(const Step& step, std::span<std::uint64_t> values) {
  const auto each = [&](const auto& function) { for_each_placed(values, step.may_be_lost, function); };
  if (std::holds_alternative<place_step::Mod>(step.said)) {
    const Divisor divisor = *step.divisor;
    if (step.sign == Signedness::none) return each([&](std::uint64_t v) { return divisor.remainder(v); });
    return each([&](std::uint64_t v) { return signed_remainder(v, divisor, step.sign); });
  }
  if (std::holds_alternative<place_step::Blocks>(step.said)) {
    if (!step.divisor) return;
    const Divisor block = *step.divisor;
    const std::uint64_t longer = step.longer;
    if (longer == 0) return each([&](std::uint64_t v) { return block.quotient(v); });
    const Divisor one_more(block.by() + 1);
    const std::uint64_t in_longer = longer * one_more.by();
    return each(
        [&](std::uint64_t v) { return v < in_longer ? one_more.quotient(v) : longer + block.quotient(v - in_longer); });
  }
  if (const auto* rows = std::get_if<place_step::Rows>(&step.said))
    return each([&](std::uint64_t v) { return v < rows->count ? v : nowhere; });
  if (const auto* mask = std::get_if<place_step::Mask>(&step.said))
    return each([&](std::uint64_t v) { return v & mask->bits; });
  if (std::get<place_step::Hash>(step.said).function == KeyHash::splitmix64)
    return each([](std::uint64_t v) { return mix(v + golden_gamma); });
  each(murmur3_fmix64);
}

void KeyPlace::apply(std::span<std::uint64_t> values) const {
  for (const Step& step : steps_) apply(step, values);
}

void KeyPlace::apply_up_to_shards(std::span<std::uint64_t> values) const {
  for (std::size_t step = 0; step + 1 < steps_.size(); ++step) apply(steps_[step], values);
}

std::uint64_t KeyPlace::server(std::uint64_t value) const {
  apply(std::span(&value, 1));
  return value;
}

std::vector<std::uint64_t> KeyPlace::trace(std::uint64_t value) const {
  std::vector<std::uint64_t> values;
  for (const Step& step : steps_) {
    apply(step, std::span(&value, 1));
    values.push_back(value);
  }
  return values;
}

}  // namespace ckpt
