#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "flowplan/export/topology_drawing.hpp"

#ifdef FLOWPLAN_HAS_GRAPHVIZ
#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>
#endif

namespace flowplan::exporting {

#ifdef FLOWPLAN_HAS_GRAPHVIZ

bool has_graphviz() {
  return true;
}

namespace {

/// libcgraph reads and libgvc lays out with state of the whole process.
std::mutex& graphviz_lock() {
  static std::mutex mutex;
  return mutex;
}

/// Ids of a graph's objects in the order they are named. Graphviz' own are addresses, and its
/// drawing follows them: the same graph would be drawn in another order the next time.
struct Ids {
  std::vector<std::string> names;
  std::unordered_map<std::string, IDTYPE> known;
  IDTYPE unnamed = 0;
};

void* open_ids(Agraph_t*, Agdisc_t*) {
  return std::make_unique<Ids>().release();  // closed below
}

long map_id(void* state, int kind, char* name, IDTYPE* id, int create) {
  auto& ids = *static_cast<Ids*>(state);
  if (name == nullptr) {
    if (create == 0) return 0;
    *id = 2 * ids.unnamed++ + 1;
    return 1;
  }
  const std::string key = std::to_string(kind == AGINEDGE ? AGEDGE : kind) + name;
  const auto [entry, fresh] = ids.known.try_emplace(key, 2 * ids.names.size());
  if (fresh && create == 0) {
    ids.known.erase(entry);
    return 0;
  }
  if (fresh) ids.names.emplace_back(name);
  *id = entry->second;
  return 1;
}

long take_id(void*, int, IDTYPE) {
  return 0;  // nobody asks for an id of his own
}

void free_id(void*, int, IDTYPE) {}

char* print_id(void* state, int, IDTYPE id) {
  auto& ids = *static_cast<Ids*>(state);
  return id % 2 == 0 ? ids.names[id / 2].data() : nullptr;
}

void close_ids(void* state) {
  std::unique_ptr<Ids>(static_cast<Ids*>(state)).reset();
}

void register_id(void*, int, void*) {}

Agraph_t* read_graph(std::string dot) {
  static Agiddisc_t ordered{open_ids, map_id, take_id, free_id, print_id, close_ids, register_id};
  Agdisc_t discipline{&AgMemDisc, &ordered, &AgIoDisc};
  std::FILE* text = fmemopen(dot.data(), dot.size(), "r");
  if (text == nullptr) return nullptr;
  Agraph_t* graph = agread(text, &discipline);
  std::fclose(text);
  return graph;
}

std::string laid_out(const std::string& dot) {
  const std::lock_guard<std::mutex> lock(graphviz_lock());
  std::string svg;
  agseterr(AGMAX);  // libraries do not print
  // One for the process: Graphviz 2.43 reads the last font's name of a context that was freed.
  static GVC_t* const context = gvContext();
  if (context == nullptr) return svg;
  if (Agraph_t* graph = read_graph(dot)) {
    if (gvLayout(context, graph, "dot") == 0) {
      char* data = nullptr;
      unsigned int length = 0;
      if (gvRenderData(context, graph, "svg", &data, &length) == 0 && data != nullptr) {
        svg.assign(data, length);
        gvFreeRenderData(data);
      }
      gvFreeLayout(context, graph);
    }
    agclose(graph);
  }
  return svg;
}

}  // namespace

Result<std::string> topology_svg(const topology::Cluster& cluster, const std::string& title) {
  std::string svg = laid_out(topology_dot(cluster, title));
  if (svg.empty())
    return fail(error(Code::file_unreadable, "Graphviz could not draw the topology",
                      "are its plugins for dot and svg installed? DOT needs neither"));
  return svg;
}

#else

bool has_graphviz() {
  return false;
}

Result<std::string> topology_svg(const topology::Cluster&, const std::string&) {
  return fail(error(Code::unsupported_feature, "this build draws no SVG: it is without Graphviz",
                    "DOT and GraphML can be written"));
}

#endif

}  // namespace flowplan::exporting
