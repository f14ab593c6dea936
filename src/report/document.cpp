#include "flowplan/report/document.hpp"

namespace flowplan::report {

Cell Cell::bar(double share) {
  Cell cell;
  cell.share = share;
  return cell;
}

Cell Cell::at_depth(std::string text, int indent) {
  Cell cell(std::move(text));
  cell.indent = indent;
  return cell;
}

}  // namespace flowplan::report
