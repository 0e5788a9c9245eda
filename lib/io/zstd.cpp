#include "io/zstd.hpp"

#ifdef CKPT_ZSTD
#define ZSTD_STATIC_LINKING_ONLY  // only for the name of ZSTD_d_stableOutBuffer
#include <zstd.h>
#endif

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/handle.hpp"

namespace ckpt {

#ifdef CKPT_ZSTD

bool has_zstd() noexcept {
  return true;
}

namespace {

[[noreturn]] void refuse_frames(const std::string& found) {
  throw Error(Kind::input, "", {found, "those that were written", "is the file damaged?"});
}

struct StreamTraits {
  using type = ZSTD_DStream*;
  static type none() noexcept { return nullptr; }
  static void release(type stream) noexcept { ZSTD_freeDStream(stream); }
};

}  // namespace

void unpack_zstd(const std::function<std::span<const std::byte>()>& next, std::span<std::byte> out) {
  thread_local const Handle<StreamTraits> stream(ZSTD_createDStream());  // 100 KB, which small chunks can share
  if (!stream) throw Error(Kind::io, "zstd has no memory");
  ZSTD_DCtx_reset(stream.get(), ZSTD_reset_session_and_parameters);
#ifdef ZSTD_d_stableOutBuffer
  // What was unpacked is the window, of any size. An old library keeps a copy of it, and so only of windows up to 128
  // MiB.
  if (ZSTD_isError(ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_stableOutBuffer, 1)) == 0)
    ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
#endif
  ZSTD_outBuffer unpacked{out.data(), out.size(), 0};
  std::size_t more = 0;
  for (auto packed = next(); !packed.empty(); packed = next())
    for (ZSTD_inBuffer in{packed.data(), packed.size(), 0}; in.pos < in.size;) {
      const std::size_t consumed = in.pos + unpacked.pos;
      more = ZSTD_decompressStream(stream.get(), &unpacked, &in);
      if (ZSTD_isError(more) != 0)
        refuse_frames("bytes that zstd does not unpack into " + std::to_string(out.size()) + ": " +
                      ZSTD_getErrorName(more));
      if (in.pos + unpacked.pos == consumed)
        refuse_frames("bytes that zstd unpacks into more than " + std::to_string(out.size()));
    }
  if (more != 0) refuse_frames("bytes of zstd that end too early");
  if (unpacked.pos != out.size())
    refuse_frames("bytes that zstd unpacks into " + std::to_string(unpacked.pos) + ", not " +
                  std::to_string(out.size()));
}

std::string unpacked_zstd(std::string_view packed, std::uint64_t most) {
  const Handle<StreamTraits> stream(ZSTD_createDStream());
  if (!stream) throw Error(Kind::io, "zstd has no memory");
  std::string all;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  for (std::size_t more = 1; more != 0 || in.pos < in.size;) {
    const std::size_t before = all.size();
    const std::size_t consumed = in.pos;
    all.resize(before + std::min<std::uint64_t>(std::max(before, ZSTD_DStreamOutSize()), most + 1 - before));
    ZSTD_outBuffer out{all.data() + before, all.size() - before, 0};
    more = ZSTD_decompressStream(stream.get(), &out, &in);
    if (ZSTD_isError(more) != 0)
      refuse_frames(std::string("bytes that zstd does not unpack: ") + ZSTD_getErrorName(more));
    all.resize(before + out.pos);
    if (all.size() > most) refuse_frames("bytes that zstd unpacks into more than " + std::to_string(most));
    if (out.pos == 0 && in.pos == consumed) refuse_frames("bytes of zstd that end too early");
  }
  return all;
}

#else

bool has_zstd() noexcept {
  return false;
}

namespace {

[[noreturn]] void refuse_zstd() {
  throw Error(Kind::input, "",
              {"is compressed with zstd, which this build lacks", "", "build with libzstd (Debian: libzstd-dev)"});
}

}  // namespace

void unpack_zstd(const std::function<std::span<const std::byte>()>& /*next*/, std::span<std::byte> /*out*/) {
  refuse_zstd();
}

std::string unpacked_zstd(std::string_view /*packed*/, std::uint64_t /*most*/) {
  refuse_zstd();
}

#endif

void unpack_zstd(std::span<const std::byte> packed, std::span<std::byte> out) {
  unpack_zstd([&] { return std::exchange(packed, {}); }, out);
}

}  // namespace ckpt
