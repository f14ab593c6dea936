#include "flowplan/topology/node_picture.hpp"

#include <random>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "hardware.hpp"

namespace flowplan::topology::node_picture_test {
namespace {

/// 8 GPUs below 4 PCIe switches on 2 CPUs, 4 NICs of 100 Gbps for each, all on NVSwitches: a P5.
struct Xml {
  int missing_nic = -1;    ///< number of a NIC to leave out
  int slow_gpu = -1;       ///< its PCIe link has 8 GT/s
  int gpu_elsewhere = -1;  ///< on the other CPU, without NICs
  int fewer_nvlinks_of = -1;

  [[nodiscard]] std::string text() const {
    std::string xml = "<system version=\"1\">\n";
    for (int cpu = 0; cpu < 2; ++cpu) {
      xml += fmt::format("<cpu numaid=\"{}\">\n", cpu);
      for (int s = 2 * cpu; s < 2 * cpu + 2; ++s) {
        xml +=
            fmt::format("<pci busid=\"s{}\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n", s);
        for (int gpu = 2 * s; gpu < 2 * s + 2; ++gpu) {
          if (gpu != gpu_elsewhere) xml += gpu_text(gpu);
          for (int nic = 4 * gpu; nic < 4 * gpu + 4; ++nic)
            if (nic != missing_nic)
              xml += fmt::format(
                  "<pci busid=\"n{0}\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><nic>"
                  "<net name=\"rdma{0}\" speed=\"100000\"/></nic></pci>\n",
                  nic);
        }
        xml += "</pci>\n";
      }
      if (cpu == 1 && gpu_elsewhere >= 0) xml += gpu_text(gpu_elsewhere);
      xml += "</cpu>\n";
    }
    return xml + "</system>\n";
  }

 private:
  [[nodiscard]] std::string gpu_text(int gpu) const {
    return fmt::format(
        "<pci busid=\"g{0}\" link_speed=\"{1} GT/s PCIe\" link_width=\"16\"><gpu dev=\"{0}\">"
        "<nvlink target=\"sw\" count=\"{2}\" tclass=\"0x068000\"/></gpu></pci>\n",
        gpu, gpu == slow_gpu ? "8.0" : "32.0", gpu == fewer_nvlinks_of ? 9 : 18);
  }
};

NodePicture read(const std::string& text) {
  auto picture = read_node(text, "file");
  if (!picture) FAIL(render(picture.error()));
  return std::move(*picture);
}

std::vector<NodeDifference> differences(const std::string& text) {
  return compare_node(read(text), build(p5(), 1));
}

const NodeDifference& only(const std::vector<NodeDifference>& all, const std::string& what) {
  for (const NodeDifference& one : all)
    if (one.what == what) return one;
  static const NodeDifference none;
  std::string whats;
  for (const NodeDifference& one : all)
    whats += one.what + "; ";
  FAIL("no " << what << " among " << whats);
  return none;
}

/// nvidia-smi's matrix of the same node; NIC 3 is far from all GPUs where `far`.
std::string matrix(bool far = false) {
  std::string text = "\t";
  for (int gpu = 0; gpu < 8; ++gpu)
    text += fmt::format("GPU{}\t", gpu);
  for (int nic = 0; nic < 32; ++nic)
    text += fmt::format("NIC{}\t", nic);
  text += "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  const auto path = [&](int gpu, int nic) {
    if (far && nic == 3) return "SYS";
    return nic / 8 == gpu / 2 ? "PXB" : (nic / 16 == gpu / 4 ? "NODE" : "SYS");
  };
  for (int gpu = 0; gpu < 8; ++gpu) {
    text += fmt::format("GPU{}\t", gpu);
    for (int other = 0; other < 8; ++other)
      text += gpu == other ? " X \t" : "NV18\t";
    for (int nic = 0; nic < 32; ++nic)
      text += std::string(path(gpu, nic)) + "\t";
    text += fmt::format("{}\t{}\tN/A\n", gpu < 4 ? "0-47" : "48-95", gpu / 4);
  }
  for (int nic = 0; nic < 32; ++nic) {
    text += fmt::format("NIC{}\t", nic);
    for (int gpu = 0; gpu < 8; ++gpu)
      text += std::string(path(gpu, nic)) + "\t";
    for (int other = 0; other < 32; ++other)
      text += nic == other ? " X \t" : "SYS\t";
    text += "\t\t\n";
  }
  return text + "\nLegend:\n\n  X    = Self\n";
}

TEST_CASE("a P5 as NCCL sees it is as the catalog describes it") {
  const NodePicture picture = read(Xml{}.text());
  REQUIRE(picture.gpus.size() == 8);
  REQUIRE(picture.nics.size() == 32);
  CHECK(picture.gpus[3].name == "GPU3");
  CHECK(picture.gpus[4].numa == 1);
  CHECK(picture.nics[0].gbps == 100.0);
  CHECK(picture.to_nic[0][0] == PathType::pix);
  CHECK(picture.to_nic[0][8] == PathType::phb);
  CHECK(picture.to_nic[0][31] == PathType::sys);
  CHECK(picture.nvlink[0][7]);
  CHECK(compare_node(picture, build(p5(), 1)).empty());
}

TEST_CASE("a missing NIC is found and costs what it carried") {
  // p5() says nothing of PCIe switches, 2 GPUs a switch: 7 NICs near GPU 2 and 3 instead of 8, more
  // than the 4 that each needs, so only the sums differ.
  const auto all = differences(Xml{9, -1, -1, -1}.text());
  CHECK(only(all, "NICs").found == "31");
  CHECK(only(all, "NICs together, Gbps").found == "3100");
  CHECK(all.size() == 2);
}

TEST_CASE("a GPU away from its NICs, on the wrong NUMA node, is found") {
  const auto all = differences(Xml{-1, -1, 1, -1}.text());
  CHECK(only(all, "NICs below the PCIe switch of GPU1").found == "0 (the nearest is PHB)");
  CHECK(only(all, "NICs below the PCIe switch of GPU1").degrade == "nic:gpu1=0");
  CHECK(only(all, "GPUs on NUMA nodes").found == "3 on 0, 5 on 1");
}

TEST_CASE("a PCIe link of a lower generation and missing NVLinks are found") {
  // Generation 3 has 15.754 of the 63.015 GB/s.
  const auto slow = differences(Xml{-1, 5, -1, -1}.text());
  CHECK(only(slow, "PCIe of GPU5, GB/s one way").degrade == "pcie:gpu5=0.25");
  const auto links = differences(Xml{-1, -1, -1, 6}.text());
  CHECK(only(links, "NVLinks of GPU6").degrade == "nvlink:gpu6=0.5");
}

TEST_CASE("nvidia-smi's matrix is read with tabs, blanks and terminal escapes") {
  CHECK(differences(matrix()).empty());
  std::string blanks = matrix();
  for (char& c : blanks)
    if (c == '\t') c = ' ';
  CHECK(differences(blanks).empty());
  CHECK(differences("\x1b[4m" + matrix().insert(5, "\x1b[0m")).empty());
  // Seven NICs are left near GPU 0 and 1: enough.
  CHECK(differences(matrix(true)).empty());
  const auto bare =
      differences("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0\t0\nGPU1\tNV18\t X \t0\t0\n");
  CHECK(only(bare, "GPUs").found == "2");
  CHECK(only(bare, "NICs").found == "0");
}

TEST_CASE("bad NCCL files: the line and what is wrong") {
  struct Bad {
    const char* text;
    int line;
    const char* says;
  };
  for (const Bad& bad : std::initializer_list<Bad>{
           {"<system>\n<cpu>\n</system>", 3, "not XML"},
           {"<system", 1, "not XML"},
           {"<top/>", 1, "no element <system>"},
           {"<system/>", 1, "no GPU"},
           {"<system>\n<cpus/></system>", 2, "did you mean `cpu`"},
           {"<system>\n<cpu/></system>", 2, "no attribute numaid"},
           {"<system>\n<cpu numaid=\"x\"/></system>", 2, "no number"},
           {"<system><cpu numaid=\"0\">\n<pci/></cpu></system>", 2, "no attribute busid"},
           {"<system><cpu numaid=\"0\">\n<pci busid=\"a\" link_speed=\"fast\"/></cpu></system>", 2,
            "no PCIe speed"},
           {"<system><cpu numaid=\"0\"><pci busid=\"a\"/>\n<pci busid=\"a\"/></cpu></system>", 2,
            "described twice"},
           {"<system><cpu numaid=\"0\">\n<gpu/></cpu></system>", 2, "no attribute dev"},
           {"<system><cpu numaid=\"0\"><gpu dev=\"0\"/>\n<gpu dev=\"0\"/></cpu></system>", 2,
            "twice"},
           {"<system><cpu numaid=\"0\">\n<gqu dev=\"0\"/></cpu></system>", 2,
            "<gqu> below <cpu>"}}) {
    CAPTURE(bad.text);
    const auto picture = read_node(bad.text, "file", ImportFormat::nccl_xml);
    REQUIRE_FALSE(picture);
    const Diagnostic& first = picture.error().front();
    CAPTURE(first.message, first.hint);
    CHECK(first.place.line == bad.line);
    CHECK((first.message + first.hint).find(bad.says) != std::string::npos);
  }
  std::string deep = "<system><cpu numaid=\"0\">";
  for (int i = 0; i < 5000; ++i)
    deep += fmt::format("<pci busid=\"{}\">", i);
  for (int i = 0; i < 5000; ++i)
    deep += "</pci>";
  CHECK_FALSE(read_node(deep + "</cpu></system>", "file"));
}

TEST_CASE("bad matrices: the line and what is wrong") {
  struct Bad {
    const char* text;
    int line;
    const char* says;
  };
  const std::string head = "\tGPU0\tGPU1\tCPU Affinity\n";
  for (const Bad& bad :
       std::initializer_list<Bad>{{"", 1, "no header"},
                                  {"GPU0 GPU0 CPU\n", 1, "stands twice"},
                                  {"GPU0 GPUx CPU\n", 1, "`GPUx` is no GPU"},
                                  {"GPU0 GPU1 CPU\nGPU0 X\n", 2, "has 1 cells, not 2"},
                                  {"GPU0 GPU1 CPU\nGPU0 X NV\n", 2, "is no path"},
                                  {"GPU0 GPU1 CPU\nGPU0 X NV18\nGPU1 NV12 X\n", 3, "differs"},
                                  {"GPU0 GPU1 CPU\nGPU0 X SYS\n", 1, "no row"},
                                  {"GPU0 GPU1 CPU\nGPU0 X SYS\nGPU0 X SYS\n", 3, "two rows"},
                                  {"GPU0 GPU1 CPU\nGPU7 X SYS\n", 2, "no column"},
                                  {"GPU0 GPU1 CPU\nGPU0 SYS X\nGPU1 X SYS\n", 2, "elsewhere"}}) {
    CAPTURE(bad.text);
    const auto picture = read_node(bad.text, "file", ImportFormat::nvidia_smi);
    REQUIRE_FALSE(picture);
    const Diagnostic& first = picture.error().front();
    CAPTURE(first.message, first.hint);
    CHECK(first.place.line == bad.line);
    CHECK((first.message + first.hint).find(bad.says) != std::string::npos);
  }
}

TEST_CASE("a damaged node file gives diagnostics, never a crash") {
  const std::string good[] = {Xml{}.text(), matrix()};
  std::mt19937 random(3);
  for (int round = 0; round < 600; ++round) {
    std::string text = good[round % 2];
    for (unsigned i = 0; i < 1 + random() % 3; ++i) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text.erase(at, 1 + random() % 20);
      else
        text.insert(at, 1, "<>\"/ =X\n\t0a"[random() % 11]);
    }
    const auto picture =
        read_node(text, "file", round % 2 == 0 ? ImportFormat::nccl_xml : ImportFormat::nvidia_smi);
    if (picture)
      CHECK_NOTHROW(compare_node(*picture, build(p5(), 1)));
    else
      CHECK_FALSE(picture.error().empty());
  }
}

}  // namespace
}  // namespace flowplan::topology::node_picture_test
