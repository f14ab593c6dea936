// NCCL's topology XML: system > cpu > pci > (pci | gpu | nic > net), as NCCL_TOPO_DUMP_FILE writes
// it.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "node_readers.hpp"
#include "text_place.hpp"

namespace flowplan::topology {
namespace {

constexpr int deepest_pci = 32;
constexpr const char* nvswitch_class = "0x068000";
constexpr double mbps_per_gbps = 1000.0;

/// A device with the way down to it: its CPU, then PCI elements.
struct Found {
  Device device;
  std::vector<std::string> path;
  std::string bus;
  std::set<std::string> nvlink_to;
  bool nvswitch = false;
};

class NcclReader {
 public:
  NcclReader(const std::string& text, const std::string& file) : text_(text), places_(file, text) {}

  Result<NodePicture> read() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed)
      return fail(error(Code::bad_cluster,
                        places_.at_offset(static_cast<std::size_t>(parsed.offset)),
                        fmt::format("the text is not XML: {}", parsed.description())));
    const pugi::xml_node system = document.child("system");
    if (!system)
      return fail(error(Code::wrong_kind_of_file, places_.at(1), "there is no element <system>",
                        "a file that NCCL_TOPO_DUMP_FILE wrote begins with it"));
    int cpus = 0;
    for (const pugi::xml_node cpu : system.children()) {
      if (!is_element(cpu)) continue;
      if (std::strcmp(cpu.name(), "cpu") != 0) {
        refuse(Code::unknown_key, cpu, fmt::format("<{}> below <system>", cpu.name()),
               suggest(cpu.name(), std::vector<std::string>{"cpu"}));
        continue;
      }
      const int numa = number(cpu, "numaid", true);
      read_children(cpu, {fmt::format("cpu{}", cpus++)}, numa, {}, 0);
    }
    if (faults_.empty() && gpus_.empty())
      faults_.push_back(error(Code::bad_cluster, places_.at(1), "no GPU is described"));
    if (!faults_.empty()) return fail(std::move(faults_));
    return picture();
  }

 private:
  using Path = std::vector<std::string>;

  static bool is_element(const pugi::xml_node& node) { return node.type() == pugi::node_element; }
  Place place(const pugi::xml_node& node) const {
    return places_.at_offset(
        static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, node.offset_debug())));
  }
  void refuse(Code code, const pugi::xml_node& at, std::string message, std::string hint = {}) {
    faults_.push_back(error(code, place(at), std::move(message), std::move(hint)));
  }

  std::string attribute(const pugi::xml_node& node, const char* key) {
    const pugi::xml_attribute found = node.attribute(key);
    if (found) return found.value();
    refuse(Code::missing_key, node, fmt::format("<{}> has no attribute {}", node.name(), key),
           near_attribute(node, key));
    return {};
  }

  static std::string near_attribute(const pugi::xml_node& node, const char* key) {
    std::vector<std::string> names;
    for (const pugi::xml_attribute& one : node.attributes())
      names.emplace_back(one.name());
    const auto near = nearest(key, names);
    return near ? fmt::format("it has `{}`", *near) : std::string{};
  }

  int number(const pugi::xml_node& node, const char* key, bool needed) {
    if (!needed && !node.attribute(key)) return 0;
    const std::string text = attribute(node, key);
    if (text.empty()) return 0;
    int value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size())
      refuse(Code::value_not_allowed, node, fmt::format("{}=\"{}\" is no number", key, text));
    return value;
  }

  /// The narrowest of the links of one PCI element: "32.0 GT/s PCIe" and "16".
  void read_link(const pugi::xml_node& pci, Device& device) {
    const std::string speed = pci.attribute("link_speed").value();
    if (speed.empty()) return;
    double rate = 0.0;
    const auto [end, fault] = std::from_chars(speed.data(), speed.data() + speed.size(), rate);
    if (fault != std::errc{} || !std::string_view(end).starts_with(" GT/s") || !(rate > 0.0))
      return refuse(Code::value_not_allowed, pci,
                    fmt::format("link_speed=\"{}\" is no PCIe speed", speed),
                    "for example 32.0 GT/s PCIe");
    device.pcie_gt_per_s = rate;
    device.pcie_lanes = number(pci, "link_width", true);
  }

  void read_children(const pugi::xml_node& parent, const Path& path, int numa, const Device& link,
                     int depth) {
    for (const pugi::xml_node node : parent.children()) {
      if (!is_element(node)) continue;
      const std::string_view kind = node.name();
      if (kind == "pci")
        read_pci(node, path, numa, depth);
      else if (kind == "gpu")
        read_gpu(node, path, numa, link, parent);
      else if (kind == "nic")
        read_nic(node, path, numa, link);
      else if (kind != "pcilink")
        refuse(Code::unknown_key, node, fmt::format("<{}> below <{}>", node.name(), parent.name()),
               suggest(kind, std::vector<std::string>{"pci", "gpu", "nic", "pcilink"}));
    }
  }

  void read_pci(const pugi::xml_node& pci, Path path, int numa, int depth) {
    if (depth > deepest_pci)
      return refuse(Code::bad_cluster, pci, "PCI elements are nested too deeply");
    const std::string bus = attribute(pci, "busid");
    if (!bus.empty() && !buses_.insert(bus).second)
      refuse(Code::bad_cluster, pci, fmt::format("PCI device {} is described twice", bus));
    Device link;
    read_link(pci, link);
    path.push_back(bus);
    read_children(pci, path, numa, link, depth + 1);
  }

  void read_gpu(const pugi::xml_node& gpu, const Path& path, int numa, const Device& link,
                const pugi::xml_node& parent) {
    Found found;
    found.device = link;
    found.device.name = fmt::format("GPU{}", number(gpu, "dev", true));
    found.device.numa = numa;
    found.device.place = place(gpu);
    found.path = path;
    found.bus = parent.attribute("busid").value();
    for (const pugi::xml_node& nvlink : gpu.children("nvlink")) {
      found.device.nvlinks += number(nvlink, "count", true);
      found.nvlink_to.insert(attribute(nvlink, "target"));
      if (std::strcmp(nvlink.attribute("tclass").value(), nvswitch_class) == 0)
        found.nvswitch = true;
    }
    if (!names_.insert(found.device.name).second)
      refuse(Code::bad_cluster, gpu, fmt::format("{} is described twice", found.device.name));
    gpus_.push_back(std::move(found));
  }

  void read_nic(const pugi::xml_node& nic, const Path& path, int numa, const Device& link) {
    for (const pugi::xml_node& net : nic.children("net")) {
      Found found;
      found.device = link;
      found.device.name = attribute(net, "name");
      found.device.numa = numa;
      found.device.place = place(net);
      found.device.gbps = number(net, "speed", true) / mbps_per_gbps;
      found.path = path;
      if (!found.device.name.empty() && !names_.insert(found.device.name).second)
        refuse(Code::bad_cluster, net, fmt::format("{} is described twice", found.device.name));
      nics_.push_back(std::move(found));
    }
  }

  static PathType path_between(const Path& a, const Path& b) {
    std::size_t common = 0;
    while (common < std::min(a.size(), b.size()) && a[common] == b[common])
      ++common;
    if (common == 0) return PathType::sys;
    if (common == 1) return PathType::phb;  // the CPU alone
    return std::max(a.size(), b.size()) - common > 1 ? PathType::pxb : PathType::pix;
  }

  NodePicture picture() {
    NodePicture result;
    result.format = ImportFormat::nccl_xml;
    // As the program numbers them, not as they stand in the file.
    std::stable_sort(gpus_.begin(), gpus_.end(), [](const Found& a, const Found& b) {
      return std::make_pair(a.device.name.size(), a.device.name) <
             std::make_pair(b.device.name.size(), b.device.name);
    });
    for (const Found& nic : nics_)
      result.nics.push_back(nic.device);
    for (const Found& gpu : gpus_) {
      result.gpus.push_back(gpu.device);
      std::vector<PathType>& paths = result.to_nic.emplace_back();
      for (const Found& nic : nics_)
        paths.push_back(path_between(gpu.path, nic.path));
      std::vector<bool>& joined = result.nvlink.emplace_back();
      for (const Found& other : gpus_)
        joined.push_back((gpu.nvswitch && other.nvswitch) || gpu.nvlink_to.count(other.bus) > 0);
    }
    return result;
  }

  const std::string& text_;
  TextPlaces places_;
  std::vector<Found> gpus_, nics_;
  std::set<std::string> names_, buses_;
  Diagnostics faults_;
};

}  // namespace

Result<NodePicture> read_nccl_xml(const std::string& text, const std::string& file) {
  return NcclReader(text, file).read();
}

}  // namespace flowplan::topology
