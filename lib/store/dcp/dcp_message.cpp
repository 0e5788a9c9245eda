#include "base/byte_stream.hpp"
#include "base/checked.hpp"
#include "base/error_bytes.hpp"
#include "store/dcp/dcp_metadata.hpp"

// Sends a DCP directory's metadata between processes.
namespace ckpt::torch {

namespace {

void put_numbers(ByteWriter& out, const Extents& numbers) {
  out.number(numbers.size());
  for (const std::uint64_t number : numbers) out.number(number);
}

Extents take_numbers(ByteReader& in) {
  Extents numbers(in.count(sizeof(std::uint64_t)));
  for (std::uint64_t& number : numbers) number = in.number();
  return numbers;
}

void put_item(ByteWriter& out, std::uint32_t file, Interval item) {
  out.number(file);
  out.number(item.lo);
  out.number(item.hi);
}

Interval take_item(ByteReader& in, std::uint32_t& file) {
  file = checked_narrow<std::uint32_t>(in.number());
  const std::uint64_t lo = in.number();
  return {lo, in.number()};
}

void put_path(ByteWriter& out, const DcpPath& path) {
  out.number(path.size());
  for (const DcpKey& key : path) {
    out.text(key.text);
    out.flag(key.is_place);
  }
}

DcpPath take_path(ByteReader& in) {
  DcpPath path(in.count(sizeof(std::uint64_t) + 1));
  for (DcpKey& key : path) {
    key.text = in.text();
    key.is_place = in.flag();
  }
  return path;
}

void put_tensor(ByteWriter& out, const DcpTensor& tensor) {
  out.text(tensor.name);
  put_path(out, tensor.path);
  out.number(static_cast<std::uint64_t>(tensor.dtype.kind));
  out.number(static_cast<std::uint64_t>(tensor.dtype.order));
  out.number(tensor.dtype.size);
  out.text(tensor.dtype.name);
  put_numbers(out, tensor.shape);
  out.number(tensor.chunks.size());
  for (const DcpChunk& chunk : tensor.chunks) {
    put_numbers(out, chunk.box.lo);
    put_numbers(out, chunk.box.hi);
    put_item(out, chunk.file, chunk.item);
    out.number(chunk.slot);
  }
  out.flag(tensor.refusal.has_value());
  if (tensor.refusal) ckpt::put(out, *tensor.refusal);
}

DcpTensor take_tensor(ByteReader& in) {
  DcpTensor tensor;
  tensor.name = in.text();
  tensor.path = take_path(in);
  tensor.dtype.kind = in.choice(ElementKind::space_padded_text);
  tensor.dtype.order = in.choice(ByteOrder::big);
  tensor.dtype.size = in.number();
  tensor.dtype.name = in.text();
  tensor.shape = take_numbers(in);
  tensor.chunks.resize(in.count(6 * sizeof(std::uint64_t)));
  for (DcpChunk& chunk : tensor.chunks) {
    chunk.box.lo = take_numbers(in);
    chunk.box.hi = take_numbers(in);
    chunk.item = take_item(in, chunk.file);
    chunk.slot = checked_narrow<std::uint32_t>(in.number());
  }
  if (in.flag()) tensor.refusal = get_error(in);
  return tensor;
}

}  // namespace

std::string encode(const DcpMetadata& metadata) {
  ByteWriter out;
  out.number(metadata.files.size());
  for (const std::string& file : metadata.files) out.text(file);
  out.number(metadata.tensors.size());
  for (const DcpTensor& tensor : metadata.tensors) put_tensor(out, tensor);
  out.number(metadata.objects.size());
  for (const DcpObject& object : metadata.objects) {
    out.text(object.name);
    put_path(out, object.path);
    put_item(out, object.file, object.item);
  }
  out.text(metadata.mcore_data);
  return out.take();
}

DcpMetadata decode_dcp_metadata(std::string_view bytes) {
  ByteReader in(bytes, "metadata from a child process");
  DcpMetadata metadata;
  metadata.files.resize(in.count(sizeof(std::uint64_t)));
  for (std::string& file : metadata.files) file = in.text();
  metadata.tensors.resize(in.count(8 * sizeof(std::uint64_t)));
  for (DcpTensor& tensor : metadata.tensors) tensor = take_tensor(in);
  metadata.objects.resize(in.count(5 * sizeof(std::uint64_t)));
  for (DcpObject& object : metadata.objects) {
    object.name = in.text();
    object.path = take_path(in);
    object.item = take_item(in, object.file);
  }
  metadata.mcore_data = in.text();
  in.finish();
  return metadata;
}

}  // namespace ckpt::torch
