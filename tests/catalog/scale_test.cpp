#include "flowplan/catalog/scale.hpp"

#include <catch2/catch.hpp>

#include "support.hpp"

namespace flowplan::catalog::scale_test {

TEST_CASE("one figure is multiplied, all others stay") {
  const Catalog& before = our_catalog();
  const Catalog after = scaled(before, {Scaling::What::hbm_bandwidth, "H100-SXM-80GB", {}, 1.5});
  const Gpu &was = **before.gpu("H100-SXM-80GB"), &is = **after.gpu("H100-SXM-80GB");
  CHECK(is.hbm_gbytes_per_s.value == Approx(1.5 * was.hbm_gbytes_per_s.value));
  CHECK(is.nvlink_gbytes_per_s.value == was.nvlink_gbytes_per_s.value);
  CHECK((*after.gpu("B200-HGX"))->hbm_gbytes_per_s.value ==
        (*before.gpu("B200-HGX"))->hbm_gbytes_per_s.value);
}

TEST_CASE("the matrix rate is that of every precision") {
  const Catalog after =
      scaled(our_catalog(), {Scaling::What::matrix_rate, "H100-SXM-80GB", {}, 0.5});
  const Gpu &was = **our_catalog().gpu("H100-SXM-80GB"), &is = **after.gpu("H100-SXM-80GB");
  for (const auto& [precision, figure] : was.dense_tflops)
    CHECK(is.dense_tflops.at(precision).value == Approx(0.5 * figure.value));
}

TEST_CASE("machines have their network, memory and prices scaled") {
  const Instance& was = **our_catalog().instance("p5.48xlarge");
  const Catalog network = scaled(our_catalog(), {Scaling::What::network, "p5.48xlarge", {}, 2.0});
  CHECK((*network.instance("p5.48xlarge"))->efa_gbps_total.value ==
        Approx(2.0 * was.efa_gbps_total.value));
  const Catalog memory =
      scaled(our_catalog(), {Scaling::What::hbm_capacity, "p5.48xlarge", {}, 0.5});
  CHECK((*memory.instance("p5.48xlarge"))->hbm_per_gpu().value() ==
        Approx(0.5 * was.hbm_per_gpu().value()));
  const Catalog price = scaled(our_catalog(), {Scaling::What::price, "p5.48xlarge", {}, 3.0});
  CHECK(
      price.price("p5.48xlarge", "on_demand", "us-east-1")->per_hour.value() ==
      Approx(3.0 * our_catalog().price("p5.48xlarge", "on_demand", "us-east-1")->per_hour.value()));
}

TEST_CASE("a constant of one set is scaled") {
  const std::string id = "framework-megatron-core", name = "tp.exposed_share";
  const Catalog after = scaled(our_catalog(), {Scaling::What::constant, id, name, 0.5});
  const Constants &was = **our_catalog().constants(id), &is = **after.constants(id);
  CHECK(is.at(name) == Approx(0.5 * was.at(name)));
  CHECK(is.at("cp.exposed_share") == was.at("cp.exposed_share"));
  CHECK(is.entries().size() == was.entries().size());
}

}  // namespace flowplan::catalog::scale_test
