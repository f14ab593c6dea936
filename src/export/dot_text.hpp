#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/topology/cluster.hpp"

namespace flowplan::exporting {

/// Text in DOT, piece by piece.
class DotText {
 public:
  enum class Look { normal, degraded, idle };

  void open(const std::string& title);
  void close();
  /// Boxes until `end_frame` stand in a frame of their own.
  void begin_frame(const std::string& id, const std::string& label, bool dashed = false);
  void end_frame();
  /// `lines` are centred below each other, the first in bold.
  void box(const std::string& id, topology::VertexKind kind, const std::vector<std::string>& lines,
           Look look = Look::normal);
  void edge(const std::string& from, const std::string& to, topology::Tier tier,
            const std::string& label, Look look = Look::normal);
  /// What the colours of these tiers and the labels mean.
  void legend(const std::vector<topology::Tier>& tiers, bool degraded, bool idle);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void line(const std::string& text);
  std::string text_;
  int depth_ = 0;
};

/// Rates for labels: "450 GB/s", "12.8 TB/s"; decimal.
[[nodiscard]] std::string rate_text(double bytes_per_s);

}  // namespace flowplan::exporting
