#include "flowplan/storage/answer.hpp"

#include <utility>

namespace flowplan::storage {

Answer answer_of(std::string id, std::string label, const Movement& movement) {
  const Transfer transfer = run_alone(movement);
  Answer answer;
  answer.bytes = movement.per_node * static_cast<double>(movement.nodes);
  answer.time = transfer.time;
  answer.rate = transfer.rate;
  answer.limit = transfer.limit;
  answer.next = transfer.next;
  answer.next_time = transfer.next_time;
  answer.limits = transfer.limits;
  answer.warnings = movement.path.warnings;
  answer.breakdown = {"io", "time", {}, {}, {}, {}, {}};
  answer.breakdown.children.push_back(leaf(std::move(id), std::move(label), transfer));
  return answer;
}

void add_part(Answer& answer, Breakdown part) {
  if (part.time().value() <= 0.0) return;
  answer.time += part.time();
  answer.next_time += part.time();
  answer.breakdown.children.push_back(std::move(part));
}

}  // namespace flowplan::storage
