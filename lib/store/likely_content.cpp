#include "store/likely_content.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/shell_word.hpp"
#include "base/text.hpp"
#include "store/stores.hpp"

namespace ckpt {

namespace {

using namespace std::string_view_literals;

constexpr std::streamsize bytes_looked_at = 512;
constexpr std::streamsize last_bytes_looked_at = 8;

/// A file's first and last bytes, and its name.
struct FileProbe {
  std::string first;
  std::string last;
  std::string name;
};

/// Bytes that identify a kind of content, and a remedy, in which FILE stands for the file.
struct Mark {
  std::size_t at;
  std::string_view bytes;
  const char* what;
  const char* remedy;
  bool is_lost = false;
};

constexpr const char* no_tensors_to_read = "take the checkpoint that it was made from";

constexpr std::array marks{
    Mark{0, "version https://git-lfs"sv, "a Git LFS pointer, whose data was not fetched",
         "fetch the data: git lfs pull, in the repository's directory", true},
    Mark{0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "unpack it: 7z x FILE"},
    Mark{257, "ustar"sv, "a tar archive", "unpack it: tar -xf FILE"},
    Mark{0, "lmgg"sv, "GGML, a model for llama.cpp", no_tensors_to_read},
    Mark{0, "tjgg"sv, "GGML, a model for llama.cpp", no_tensors_to_read},
    Mark{4, "TFL3"sv, "a model of TensorFlow Lite", no_tensors_to_read},
    Mark{0, "PAR1"sv, "a table of Parquet", "take the checkpoint: this is data of another kind"},
    Mark{0, "ARROW1"sv, "a table of Arrow", "take the checkpoint: this is data of another kind"},
    Mark{0,
         "\x7f"
         "ELF"sv,
         "a program", "check the path"},
};

/// A file packed as a whole: by gzip, or a tool with the same usage.
struct Packing {
  std::string_view bytes;
  const char* tool;
  const char* ending;
};

constexpr std::array packings{Packing{"\x1f\x8b"sv, "gzip", ".gz"}, Packing{"\x28\xb5\x2f\xfd"sv, "zstd", ".zst"},
                              Packing{"\xfd"
                                      "7zXZ\0"sv,
                                      "xz", ".xz"},
                              Packing{"BZh"sv, "bzip2", ".bz2"}, Packing{"\x04\x22\x4d\x18"sv, "lz4", ".lz4"}};

FileProbe look_into(const std::filesystem::path& file) {
  FileProbe looked{std::string(bytes_looked_at, '\0'), std::string(last_bytes_looked_at, '\0'),
                   file.filename().string()};
  std::ifstream in(file, std::ios::binary);
  in.read(looked.first.data(), bytes_looked_at);
  looked.first.resize(static_cast<std::size_t>(in.gcount()));
  in.clear();
  in.seekg(-last_bytes_looked_at, std::ios::end);
  in.read(looked.last.data(), last_bytes_looked_at);
  looked.last.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return looked;
}

bool is_text(std::string_view bytes) {
  const bool begins_within_character = !bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0xC0U) == 0x80U;
  return !begins_within_character && std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7F || (byte < 0x20 && "\t\n\r\f"sv.find(c) == std::string_view::npos);
  });
}

bool has(const FileProbe& file, std::string_view text) {
  return file.first.find(text) != std::string::npos;
}

/// Recognises HTML, JSON and other text by its first word, ignoring case.
LikelyContent text_content(const FileProbe& file) {
  std::string begin = file.first.substr(0, 64);
  if (begin.starts_with("\xef\xbb\xbf")) begin.erase(0, 3);
  begin.erase(0, std::min(begin.find_first_not_of(" \t\r\n"), begin.size()));
  begin = lower_case(begin);
  const char* const again = "a server has answered with it instead of the file: download the file again";
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html")) return {"an HTML page", again, true};
  if (begin.starts_with("<?xml")) return {"XML", again, true};
  const bool is_named_as_tensors = format_by_ending(formats(), file.name) != nullptr;
  const char* const remedy =
      is_named_as_tensors
          ? "was another file copied to its place, or a server's answer saved? Copy or download it again"
          : "";
  if (begin.starts_with("{") || begin.starts_with("[")) return {"text, perhaps JSON", remedy};
  if (begin.starts_with("model_checkpoint_path")) return {"the file in which TensorFlow names its checkpoints", ""};
  return {"text", remedy};
}

/// Judges by the name of the first entry: "PK\3\4" … u16 length at 26, the name at 30.
LikelyContent zip_content(const FileProbe& file) {
  constexpr std::size_t length_at = 26;
  constexpr std::size_t name_at = 30;
  if (file.first.size() < name_at) return {"the beginning of a zip archive", "take the whole file", true};
  const auto length = static_cast<unsigned char>(file.first[length_at]);
  const std::string first = file.first.substr(name_at, length);
  if (first.ends_with("/data.pkl")) return {};  // torch's: its own format reports more about it
  if (file.name.ends_with(".keras") || first == "model.weights.h5")
    return {"a model of Keras", "take the weights out: unzip FILE model.weights.h5"};
  return {"a zip archive", "unpack it: unzip FILE"};
}

LikelyContent pickle_content(const FileProbe& file) {
  if (file.name.ends_with(".metadata") && has(file, "paddle"))
    return {"the metadata of a distributed checkpoint of PaddlePaddle",
            "give its directory, with the files that it names in it"};
  if (file.name.ends_with(".metadata"))
    return {"the index of a checkpoint of torch.distributed.checkpoint",
            "give its directory, with the .distcp files that it names in it"};
  if (has(file, "paddle"))
    return {"a pickle of PaddlePaddle's objects",
            "load it with paddle.load, and save its state_dict() with paddle.save"};
  if (has(file, "jax") || has(file, "flax"))
    return {"a pickle of JAX's arrays", "load it with Python, and save it with safetensors.flax.save_file"};
  if (has(file, "numpy"))
    return {"a pickle of NumPy's objects", "load it with Python, and save it with safetensors.numpy.save_file"};
  return {"a pickle of Python, without torch's tensors", "load it with Python, and save its tensors with safetensors"};
}

/// torch's first format begins with a magic number, which that format recognises.
bool is_pickle(const std::string& bytes) {
  constexpr std::string_view torch_number = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
  return bytes.size() > 2 && bytes.find(torch_number) == std::string::npos && bytes[0] == '\x80' && bytes[1] >= 2 &&
         bytes[1] <= 5;
}

/// Recognises ONNX: an IR version, and a producer or a graph.
bool is_onnx(const FileProbe& file) {
  const std::string& bytes = file.first;
  return bytes.size() > 3 && bytes[0] == '\x08' && bytes[1] >= 3 && bytes[1] <= 16 &&
         (bytes[2] == '\x12' || bytes[2] == '\x3a') &&
         (file.name.ends_with(".onnx") || has(file, "onnx") || has(file, "pytorch"));
}

/// Recognises content by the file's name alone.
LikelyContent named_content(const FileProbe& file) {
  if (file.name.ends_with(".msgpack"))
    return {"MessagePack, as Flax writes it", "load it with Flax, and save it with safetensors.flax.save_file"};
  if (file.name.ends_with(".pdmodel") || file.name == "__model__")
    return {"a program of PaddlePaddle", "give the file of its parameters, beside which it lies, or their directory"};
  if (file.name.ends_with(".pb")) return {"a graph of TensorFlow", no_tensors_to_read};
  return {};
}

/// Others (an index, a layout) may refer to the file by its name: the unpacked content gets that name, unless the
/// file's ending says how it is packed.
LikelyContent packed_content(const FileProbe& file, const Packing& packing) {
  const std::string tool = packing.tool;
  const std::string ending = packing.ending;
  const bool is_named_so = file.name.ends_with(ending) && file.name.size() > ending.size();
  return {tool + " data",
          is_named_so ? "unpack it: " + tool + " -dc FILE > STEM"
                      : "unpack it under its own name: mv FILE FILE" + ending + " && " + tool + " -d FILE" + ending};
}

std::string with_names(std::string remedy, const std::filesystem::path& file) {
  const auto put = [&](std::string_view word, const std::string& name) {
    for (std::size_t at = remedy.find(word); at != std::string::npos; at = remedy.find(word, at + name.size()))
      remedy.replace(at, word.size(), name);
  };
  put("FILE", shell_word(file.string()));
  put("STEM", shell_word((file.parent_path() / file.stem()).string()));
  return remedy;
}

LikelyContent content_of(const FileProbe& file) {
  for (const Mark& mark : marks)
    if (file.first.size() > mark.at && std::string_view(file.first).substr(mark.at).starts_with(mark.bytes))
      return {mark.what, mark.remedy, mark.is_lost};
  for (const Packing& packing : packings)
    if (file.first.starts_with(packing.bytes)) return packed_content(file, packing);
  if (file.first.empty()) return {"empty", "was the save or the copy interrupted? Copy the file again", true};
  if (file.first.find_first_not_of('\0') == std::string::npos)
    return {"zeros, as a full disk or an interrupted copy leaves them", "copy the file again", true};
  if (file.first.starts_with("PK\x03\x04")) return zip_content(file);
  if (is_pickle(file.first)) {
    LikelyContent pickle = pickle_content(file);
    pickle.is_pickle = true;
    return pickle;
  }
  if (file.last == "\x57\xfb\x80\x8b\x24\x75\x47\xdb")
    return {"a checkpoint of TensorFlow's first form (V1), or an index of the second under another name",
            "load it with TensorFlow and save it again; an index is called PREFIX.index, beside "
            "PREFIX.data-00000-of-00001"};
  if (is_onnx(file)) return {"a model in ONNX", no_tensors_to_read};
  if (is_text(file.first)) return text_content(file);
  return named_content(file);
}

}  // namespace

LikelyContent likely_content(const std::filesystem::path& file) {
  LikelyContent content = content_of(look_into(file));
  content.remedy = with_names(std::move(content.remedy), file);
  return content;
}

LikelyContent likely_content(const std::filesystem::path& file, std::string_view bytes) {
  const std::size_t last = bytes.size() - std::min<std::size_t>(bytes.size(), last_bytes_looked_at);
  LikelyContent content = content_of(
      {std::string(bytes.substr(0, bytes_looked_at)), std::string(bytes.substr(last)), file.filename().string()});
  content.remedy = with_names(std::move(content.remedy), file);
  return content;
}

std::optional<Error> unlike(const std::filesystem::path& file, const std::string& expected) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return std::nullopt;
  const LikelyContent likely = likely_content(file);
  if (likely.what.empty()) return std::nullopt;
  return Error(
      Kind::input, file.string(),
      {"it seems to be " + likely.what, expected,
       likely.remedy.empty() ? "was another file copied to its place? Copy or download it again" : likely.remedy});
}

}  // namespace ckpt
