// Chakra's binary execution traces: length-delimited messages of et_def.proto, read field by field
// so that what is malformed is told by its byte. The only source that includes protobuf.
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#ifdef FLOWPLAN_HAS_PROTOBUF
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#endif

#include "readers.hpp"

namespace flowplan::replay {

bool reads_chakra() {
#ifdef FLOWPLAN_HAS_PROTOBUF
  return true;
#else
  return false;
#endif
}

#ifndef FLOWPLAN_HAS_PROTOBUF

namespace {

Diagnostic without_protobuf(const std::string& file) {
  return error(Code::unsupported_feature, in_file(file),
               "this build of flowplan was made without protobuf, which Chakra traces need",
               "build it where libprotobuf-dev is installed, or give the JSON variant");
}

}  // namespace

Result<ExecutionTrace> parse_chakra(std::string_view, const std::string& file) {
  return fail(without_protobuf(file));
}

Result<std::string> inflated(std::string_view, const std::string& file) {
  return fail(without_protobuf(file));
}

#else

namespace {

namespace io = google::protobuf::io;

constexpr std::size_t inflate_step = std::size_t{1} << 20;
constexpr std::uint32_t wire_varint = 0, wire_fixed64 = 1, wire_bytes = 2, wire_fixed32 = 5;
constexpr std::uint32_t wire_bits = 3;  // a tag is a field's number and its wire type

/// Walks one file. A fault is kept, with the byte at which it was met, and ends the walk.
class ChakraReader {
 public:
  ChakraReader(std::string_view text, const std::string& file)
      : size_(text.size()),
        file_(file),
        in_(reinterpret_cast<const std::uint8_t*>(text.data()), static_cast<int>(text.size())) {
    in_.SetTotalBytesLimit(std::numeric_limits<int>::max());
  }

  Result<ExecutionTrace> run() {
    ExecutionTrace trace;
    trace.format = TraceFormat::chakra;
    std::vector<NamedNode> nodes;
    for (bool first = true; !fault_ && at() < size_; first = false)
      message(first ? "the metadata" : fmt::format("node {}", nodes.size() + 1), [&] {
        if (first)
          metadata(trace);
        else
          nodes.push_back(node());
      });
    if (!fault_ && nodes.empty()) complain(at(), "the file ends before its first node");
    if (fault_) return fail(std::move(*fault_));
    auto graph = linked(std::move(nodes), file_);
    if (!graph) return fail(std::move(graph.error()));
    trace.ranks.push_back({file_, std::nullopt, std::move(*graph)});
    return trace;
  }

 private:
  [[nodiscard]] std::uint64_t at() const {
    return static_cast<std::uint64_t>(in_.CurrentPosition());
  }

  void complain(std::uint64_t where, const std::string& what) {
    if (fault_) return;
    fault_ = malformed(file_, fmt::format("byte {} of {}", where, size_), what,
                       "is the file whole, and a Chakra execution trace?");
  }

  /// A length, then that many bytes, all of which `inside` reads.
  template <class Inside>
  void message(const std::string& what, const Inside& inside) {
    const std::uint64_t begin = at();
    std::uint64_t length = 0;
    if (!in_.ReadVarint64(&length))
      return complain(begin, fmt::format("the length of {} is cut off or no number", what));
    const std::uint64_t left = in_.BytesUntilLimit() >= 0
                                   ? static_cast<std::uint64_t>(in_.BytesUntilLimit())
                                   : size_ - at();
    if (length > left)
      return complain(begin, fmt::format("{} takes {} bytes, {} are left", what, length, left));
    const auto limit = in_.PushLimit(static_cast<int>(length));
    inside();
    if (!fault_ && in_.BytesUntilLimit() != 0)
      complain(at(), fmt::format("{} does not end where its length says", what));
    in_.PopLimit(limit);
  }

  /// Shows `take` each field of the message that the limit ends: its number and wire type. What it
  /// does not take is skipped.
  template <class Take>
  void fields(const Take& take) {
    while (!fault_ && in_.BytesUntilLimit() > 0) {
      const std::uint64_t begin = at();
      const std::uint32_t tag = in_.ReadTagNoLastTag();
      if (tag >> wire_bits == 0) return complain(begin, "no field of a message begins here");
      if (!take(tag >> wire_bits, tag & ((1u << wire_bits) - 1))) skip(tag, begin);
    }
  }

  void skip(std::uint32_t tag, std::uint64_t begin) {
    const std::uint32_t type = tag & ((1u << wire_bits) - 1);
    bool whole = false;
    if (type == wire_varint) {
      std::uint64_t ignored = 0;
      whole = in_.ReadVarint64(&ignored);
    } else if (type == wire_fixed64) {
      whole = in_.Skip(8);
    } else if (type == wire_fixed32) {
      whole = in_.Skip(4);
    } else if (type == wire_bytes) {
      std::uint32_t length = 0;
      whole = in_.ReadVarint32(&length) && length <= size_ && in_.Skip(static_cast<int>(length));
    }
    if (!whole)
      complain(begin, fmt::format("field {} is cut off or of no known kind", tag >> wire_bits));
  }

  std::uint64_t varint() {
    const std::uint64_t begin = at();
    std::uint64_t value = 0;
    if (!in_.ReadVarint64(&value)) complain(begin, "a number is cut off");
    return value;
  }

  std::string text() {
    std::string value;
    message("a text", [&] {
      const int length = in_.BytesUntilLimit();
      if (!in_.ReadString(&value, length)) complain(at(), "a text is cut off");
    });
    return value;
  }

  /// Numbers of a repeated field, packed into one or one by one.
  void numbers(std::uint32_t type, std::vector<std::uint64_t>& into) {
    if (type == wire_varint) {
      into.push_back(varint());
      return;
    }
    message("a list", [&] {
      while (!fault_ && in_.BytesUntilLimit() > 0)
        into.push_back(varint());
    });
  }

  void metadata(ExecutionTrace& trace) {
    fields([&](std::uint32_t field, std::uint32_t type) {
      if (field == 1 && type == wire_bytes) {
        trace.version = text();
        return true;
      }
      // Its other fields are attributes, which are messages: of a node, numbers come first.
      if (field == 2 && type == wire_bytes) return false;
      complain(at(), "the file does not begin with Chakra's metadata");
      return true;
    });
  }

  NamedNode node() {
    NamedNode made;
    ChakraNode chakra;
    made.node.at = at();
    made.where = fmt::format("byte {}", made.node.at);
    std::optional<std::uint64_t> id;
    fields([&](std::uint32_t field, std::uint32_t type) {
      const bool number = type == wire_varint;
      if (field == 1 && number) {
        id = varint();
      } else if (field == 2 && type == wire_bytes) {
        made.node.name = text();
      } else if (field == 3 && number) {
        chakra.type = varint();
      } else if ((field == 4 || field == 5) && (number || type == wire_bytes)) {
        numbers(type, made.after);
      } else if (field == 7 && number) {
        const std::uint64_t micros = varint();
        if (micros > 0) made.node.recorded = microseconds(static_cast<double>(micros));
      } else if (field == 10 && type == wire_bytes) {
        message("an attribute", [&] { attribute(chakra); });
      } else {
        return false;
      }
      return true;
    });
    made.id = id.value_or(0);  // proto3 leaves out a 0
    if (fault_) return made;
    if (auto told = describe(chakra, file_, made.where, made.node); !told)
      fault_ = std::move(told.error().front());
    return made;
  }

  /// A value of any width; nothing for lists.
  std::optional<double> number_of(std::uint32_t field, std::uint32_t type) {
    if (type == wire_varint) {
      const std::uint64_t raw = varint();
      if (field == 15 || field == 17)  // sint32, sint64: zigzag
        return static_cast<double>(static_cast<std::int64_t>(raw >> 1) ^
                                   -static_cast<std::int64_t>(raw & 1));
      if (field == 7 || field == 9) return static_cast<double>(static_cast<std::int64_t>(raw));
      return static_cast<double>(raw);
    }
    if (type == wire_fixed64) {
      std::uint64_t raw = 0;
      if (!in_.ReadLittleEndian64(&raw)) complain(at(), "a number is cut off");
      if (field == 3) return std::bit_cast<double>(raw);
      return field == 25 ? static_cast<double>(static_cast<std::int64_t>(raw))
                         : static_cast<double>(raw);
    }
    if (type == wire_fixed32) {
      std::uint32_t raw = 0;
      if (!in_.ReadLittleEndian32(&raw)) complain(at(), "a number is cut off");
      if (field == 5) return static_cast<double>(std::bit_cast<float>(raw));
      return field == 23 ? static_cast<double>(static_cast<std::int32_t>(raw))
                         : static_cast<double>(raw);
    }
    return std::nullopt;
  }

  void attribute(ChakraNode& chakra) {
    std::string attribute_name, string_value;
    double value = 0.0;
    std::vector<std::uint64_t> flags;
    constexpr std::uint32_t first_value = 3, flags_field = 28, string_field = 29;
    fields([&](std::uint32_t field, std::uint32_t type) {
      if (field == 1 && type == wire_bytes) {
        attribute_name = text();
        return true;
      }
      if (field == string_field && type == wire_bytes) {
        string_value = text();
        return true;
      }
      if (field == flags_field && type == wire_bytes) {
        message("a list", [&] {
          fields([&](std::uint32_t inner, std::uint32_t how) {
            if (inner != 1 || (how != wire_varint && how != wire_bytes)) return false;
            numbers(how, flags);
            return true;
          });
        });
        return true;
      }
      if (field < first_value) return false;
      const auto found = number_of(field, type);
      if (found) value = *found;
      return found.has_value();
    });
    if (attribute_name == "is_cpu_op") chakra.on_cpu = value != 0.0;
    if (attribute_name == "num_ops") chakra.operations = value;
    if (attribute_name == "tensor_size") chakra.tensor_bytes = value;
    if (attribute_name == "comm_type")
      chakra.comm_type = value >= 0.0 ? static_cast<std::uint64_t>(value)
                                      : std::numeric_limits<std::uint64_t>::max();
    if (attribute_name == "comm_size") chakra.comm_bytes = value;
    if (attribute_name == "comm_src") chakra.source = value;
    if (attribute_name == "comm_dst") chakra.target = value;
    if (attribute_name == "comm_tag") chakra.tag = value;
    if (attribute_name == "involved_dim")
      for (const std::uint64_t flag : flags)
        chakra.dimensions += flag != 0 ? '1' : '0';
    if (attribute_name == "pg_name")
      chakra.group = string_value.empty() ? fmt::format("{:.0f}", value) : string_value;
  }

  std::uint64_t size_;
  const std::string& file_;
  io::CodedInputStream in_;
  std::optional<Diagnostic> fault_;
};

}  // namespace

Result<ExecutionTrace> parse_chakra(std::string_view text, const std::string& file) {
  return ChakraReader(text, file).run();
}

Result<std::string> inflated(std::string_view text, const std::string& file) {
  io::ArrayInputStream packed(text.data(), static_cast<int>(text.size()));
  io::GzipInputStream stream(&packed, io::GzipInputStream::GZIP, static_cast<int>(inflate_step));
  std::string out;
  const void* data = nullptr;
  int size = 0;
  while (stream.Next(&data, &size)) {
    out.append(static_cast<const char*>(data), static_cast<std::size_t>(size));
    if (out.size() <= largest_trace_bytes) continue;
    return fail(error(Code::file_too_large, in_file(file),
                      fmt::format("the file holds more than {} bytes", largest_trace_bytes)));
  }
  // 1 is zlib's Z_STREAM_END, 0 that more input was wanted.
  if (stream.ZlibErrorCode() == 1) return out;
  return fail(malformed(file, fmt::format("byte {} of {}", packed.ByteCount(), text.size()),
                        "the gzip data is cut off or damaged"));
}

#endif

}  // namespace flowplan::replay
