#pragma once

#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

// Ids of subnets, security groups, reservations and buckets are the user's: the files say
// "REPLACE" where one has to be filled in. Errors FP073 for machines that EC2 does not offer.

/// AWS ParallelCluster 3: cluster.yaml with the queue, EFA, the placement group or reservation and
/// the file system.
[[nodiscard]] Result<std::vector<WrittenFile>> parallelcluster_files(const Plan& plan);

/// AWS PCS: pcs.yaml, a CloudFormation template with cluster, launch template, compute node group
/// and queue; ids are its parameters. FP073 beyond the largest cluster size.
[[nodiscard]] Result<std::vector<WrittenFile>> pcs_files(const Plan& plan);

/// SageMaker HyperPod: cluster.json for `aws sagemaker create-cluster` and the provisioning
/// parameters of its Slurm life-cycle scripts.
[[nodiscard]] Result<std::vector<WrittenFile>> hyperpod_files(const Plan& plan);

}  // namespace flowplan::exporting
