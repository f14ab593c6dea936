#include "dot_text.hpp"

#include <array>

#include <fmt/format.h>

namespace flowplan::exporting {
namespace {

using topology::Tier;
using topology::VertexKind;

constexpr const char* font = "Helvetica,Arial,sans-serif";
constexpr const char* trouble_colour = "#c0262d";

const char* tier_colour(Tier tier) {
  constexpr std::array<const char*, 5> colours{"#3b8f3b", "#8a6fb0", "#2f6fb5", "#d9822b",
                                               "#7a5230"};
  return colours.at(static_cast<std::size_t>(tier));
}

const char* tier_words(Tier tier) {
  constexpr std::array<const char*, 5> words{"NVLink", "PCIe", "NIC to leaf", "leaf to spine",
                                             "spine to core"};
  return words.at(static_cast<std::size_t>(tier));
}

const char* fill(VertexKind kind) {
  switch (kind) {
    case VertexKind::gpu:
      return "#e3f1e3";
    case VertexKind::nvswitch_plane:
      return "#c8e6c8";
    case VertexKind::pcie_switch:
    case VertexKind::cpu_socket:
      return "#ece6f4";
    case VertexKind::nic_group:
      return "#dbe8f6";
    case VertexKind::leaf:
      return "#cfe0f3";
    case VertexKind::spine:
      return "#fbe3cb";
    case VertexKind::core:
      return "#ead9cb";
  }
  return "white";
}

/// Inside double quotes.
std::string quoted(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result;
}

/// Inside an HTML-like label.
std::string html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= ' ') result += c;
    }
  }
  return result;
}

}  // namespace

std::string rate_text(double bytes_per_s) {
  constexpr double tera = 1e12, giga = 1e9;
  if (bytes_per_s >= tera) return fmt::format("{:.4g} TB/s", bytes_per_s / tera);
  return fmt::format("{:.3g} GB/s", bytes_per_s / giga);
}

void DotText::line(const std::string& text) {
  text_.append(static_cast<std::size_t>(2 * depth_), ' ');
  text_ += text + "\n";
}

void DotText::open(const std::string& title) {
  line("graph topology {");
  ++depth_;
  line(
      fmt::format("graph [rankdir=LR, labelloc=t, labeljust=l, label=\"{}\", fontname=\"{}\", "
                  "fontsize=18, nodesep=0.18, ranksep=1.5, newrank=false, bgcolor=white];",
                  quoted(title), font));
  line(
      fmt::format("node [shape=box, style=\"filled,rounded\", color=\"#5b6470\", fontname=\"{}\", "
                  "fontsize=12, margin=\"0.12,0.06\"];",
                  font));
  line(fmt::format("edge [fontname=\"{}\", fontsize=11, penwidth=1.6];", font));
}

void DotText::close() {
  --depth_;
  line("}");
}

void DotText::begin_frame(const std::string& id, const std::string& label, bool dashed) {
  line(fmt::format("subgraph \"cluster_{}\" {{", quoted(id)));
  ++depth_;
  line(fmt::format("label=\"{}\"; labeljust=l; fontsize=13; color=\"#9aa3ad\"; style=\"{}\";",
                   quoted(label), dashed ? "dashed,rounded" : "rounded"));
}

void DotText::end_frame() {
  --depth_;
  line("}");
}

void DotText::box(const std::string& id, VertexKind kind, const std::vector<std::string>& lines,
                  Look look) {
  std::string label;
  for (std::size_t i = 0; i < lines.size(); ++i)
    label += i == 0 ? fmt::format("<b>{}</b>", html(lines[i])) : "<br/>" + html(lines[i]);
  const char* extra = "";
  if (look == Look::degraded) extra = ", color=\"#c0262d\", penwidth=2";
  if (look == Look::idle) extra = ", style=\"dashed,rounded\", fontcolor=\"#6b7280\"";
  line(fmt::format("\"{}\" [label=<{}>, fillcolor=\"{}\"{}];", quoted(id), label, fill(kind),
                   extra));
}

void DotText::edge(const std::string& from, const std::string& to, Tier tier,
                   const std::string& label, Look look) {
  const bool degraded = look == Look::degraded;
  line(fmt::format("\"{}\" -- \"{}\" [label=\"{}\", color=\"{}\", fontcolor=\"{}\"{}];",
                   quoted(from), quoted(to), quoted(label),
                   degraded ? trouble_colour : tier_colour(tier),
                   degraded ? trouble_colour : tier_colour(tier),
                   degraded ? ", style=dashed, penwidth=2.2" : ""));
}

void DotText::legend(const std::vector<Tier>& tiers, bool degraded, bool idle) {
  std::string rows;
  for (const Tier tier : tiers)
    rows += fmt::format(
        "<tr><td align=\"left\"><font color=\"{}\"><b>&#8212;&#8212; </b></font>{}"
        "</td></tr>",
        tier_colour(tier), tier_words(tier));
  if (degraded)
    rows += fmt::format(
        "<tr><td align=\"left\"><font color=\"{}\"><b>- - - </b></font>"
        "slower than built, or failed</td></tr>",
        trouble_colour);
  if (idle) rows += "<tr><td align=\"left\">dashed box: takes no ranks</td></tr>";
  rows += "<tr><td align=\"left\">rates: one direction, GB/s = 10^9 byte/s</td></tr>";
  rows += "<tr><td align=\"left\">x16: sixteen alike, drawn once; the rate is of each</td></tr>";
  line(
      fmt::format("legend [shape=plain, style=\"\", label=<<table border=\"1\" cellborder=\"0\" "
                  "cellspacing=\"1\" color=\"#9aa3ad\"><tr><td align=\"left\"><b>Legend</b></td>"
                  "</tr>{}</table>>];",
                  rows));
}

}  // namespace flowplan::exporting
