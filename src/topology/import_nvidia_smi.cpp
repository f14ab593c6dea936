// The matrix of `nvidia-smi topo -m`, with tabs or blanks, with or without NICs.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "node_readers.hpp"
#include "text_place.hpp"

namespace flowplan::topology {
namespace {

struct Token {
  std::string text;
  int column = 0;
};

/// Terminals' escape sequences are taken out.
std::string plain(std::string_view line) {
  std::string result;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i = std::min(line.find('m', i), line.size());
      continue;
    }
    if (line[i] != '\r') result += line[i];
  }
  return result;
}

std::vector<Token> tokens_of(std::string_view line) {
  std::vector<Token> tokens;
  for (std::size_t at = line.find_first_not_of(" \t"); at != line.npos && at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    tokens.push_back({std::string(line.substr(at, end - at)), static_cast<int>(at) + 1});
    at = line.find_first_not_of(" \t", end);
  }
  return tokens;
}

std::optional<int> as_number(std::string_view text) {
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc{} || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

bool is_gpu_name(std::string_view name) {
  return name.starts_with("GPU") && as_number(name.substr(3)).has_value();
}

/// A cell of the matrix: NVLinks, or a way over PCIe.
struct Cell {
  PathType path = PathType::sys;
  int nvlinks = 0;
};

std::optional<Cell> read_cell(std::string_view text) {
  if (text == "X") return Cell{PathType::loc, 0};
  for (const PathType path :
       {PathType::pix, PathType::pxb, PathType::phb, PathType::node, PathType::sys})
    if (text == name(path)) return Cell{path, 0};
  if (!text.starts_with("NV")) return std::nullopt;
  const auto links = as_number(text.substr(2));
  if (!links || *links == 0) return std::nullopt;
  return Cell{PathType::nvl, *links};
}

class SmiReader {
 public:
  SmiReader(const std::string& text, const std::string& file) : text_(text), places_(file, text) {}

  Result<NodePicture> read() {
    std::string_view rest = text_;
    for (int line = 1; !rest.empty(); ++line) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string text = plain(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (text.find("Legend") != text.npos) break;
      const std::vector<Token> tokens = tokens_of(text);
      if (tokens.empty()) continue;
      if (columns_.empty())
        read_header(tokens, line);
      else
        read_row(tokens, line);
    }
    if (columns_.empty() && faults_.empty())
      faults_.push_back(error(Code::bad_cluster, places_.at(1), "there is no header GPU0 GPU1 ...",
                              "the answer of `nvidia-smi topo -m`"));
    check();
    if (!faults_.empty()) return fail(std::move(faults_));
    return picture();
  }

 private:
  void refuse(int line, int column, std::string message, std::string hint = {}) {
    faults_.push_back(
        error(Code::bad_cluster, places_.at(line, column), std::move(message), std::move(hint)));
  }

  void read_header(const std::vector<Token>& tokens, int line) {
    if (!is_gpu_name(tokens.front().text)) return;  // something before the matrix
    for (const Token& token : tokens) {
      if (token.text == "CPU") break;
      if (token.text.starts_with("GPU") && !is_gpu_name(token.text))
        refuse(line, token.column, fmt::format("`{}` is no GPU", token.text),
               "GPU and its number: GPU0; other columns are network interfaces");
      if (std::find(columns_.begin(), columns_.end(), token.text) != columns_.end())
        refuse(line, token.column, fmt::format("{} stands twice", token.text));
      columns_.push_back(token.text);
    }
    header_line_ = line;
  }

  void read_row(const std::vector<Token>& tokens, int line) {
    const std::string& name = tokens.front().text;
    if (std::find(columns_.begin(), columns_.end(), name) == columns_.end())
      return refuse(line, tokens.front().column, fmt::format("{} has a row but no column", name),
                    suggest(name, columns_));
    if (rows_.count(name) > 0)
      return refuse(line, tokens.front().column, fmt::format("{} has two rows", name));
    if (tokens.size() <= columns_.size())
      return refuse(line, 0,
                    fmt::format("the row of {} has {} cells, not {}", name, tokens.size() - 1,
                                columns_.size()));
    Row& row = rows_[name];
    row.line = line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto cell = read_cell(tokens[i + 1].text);
      if (!cell)
        refuse(line, tokens[i + 1].column, fmt::format("`{}` is no path", tokens[i + 1].text),
               "X, NV#, PIX, PXB, PHB, NODE or SYS");
      row.cells.push_back(cell.value_or(Cell{}));
    }
    // Then "0-47" and "0": CPU and NUMA affinity.
    if (is_gpu_name(name) && tokens.size() > columns_.size() + 2)
      row.numa = as_number(tokens[columns_.size() + 2].text).value_or(-1);
  }

  void check() {
    if (!faults_.empty()) return;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto row = rows_.find(columns_[i]);
      if (row == rows_.end()) {
        refuse(header_line_, 0, fmt::format("{} has a column but no row", columns_[i]));
        continue;
      }
      for (std::size_t j = 0; j < columns_.size(); ++j) {
        const Cell& cell = row->second.cells[j];
        if ((cell.path == PathType::loc) != (i == j))
          refuse(row->second.line, 0,
                 fmt::format("X stands elsewhere than at {} itself", columns_[i]));
        const auto back = rows_.find(columns_[j]);
        if (back == rows_.end() || j <= i) continue;
        const Cell& other = back->second.cells[i];
        if (other.path != cell.path || other.nvlinks != cell.nvlinks)
          refuse(back->second.line, 0,
                 fmt::format("{} to {} differs from {} to {}", columns_[j], columns_[i],
                             columns_[i], columns_[j]));
      }
    }
  }

  NodePicture picture() const {
    NodePicture result;
    result.format = ImportFormat::nvidia_smi;
    for (const std::string& column : columns_) {
      Device device;
      device.name = column;
      const Row& row = rows_.at(column);
      device.numa = row.numa;
      device.place = places_.at(row.line);
      if (!is_gpu_name(column)) {
        result.nics.push_back(std::move(device));
        continue;
      }
      std::vector<PathType>& paths = result.to_nic.emplace_back();
      std::vector<bool>& joined = result.nvlink.emplace_back();
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (!is_gpu_name(columns_[i])) {
          paths.push_back(row.cells[i].path);
          continue;
        }
        joined.push_back(row.cells[i].nvlinks > 0);
        device.nvlinks = std::max(device.nvlinks, row.cells[i].nvlinks);
      }
      result.gpus.push_back(std::move(device));
    }
    return result;
  }

  struct Row {
    std::vector<Cell> cells;
    int numa = -1;
    int line = 0;
  };
  const std::string& text_;
  TextPlaces places_;
  std::vector<std::string> columns_;
  std::map<std::string, Row> rows_;
  int header_line_ = 0;
  Diagnostics faults_;
};

}  // namespace

Result<NodePicture> read_nvidia_smi(const std::string& text, const std::string& file) {
  return SmiReader(text, file).read();
}

}  // namespace flowplan::topology
