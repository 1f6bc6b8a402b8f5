#pragma once

#include <kernelbayes/genealogy.hpp>
#include <kernelbayes/smc_settings.hpp>

#include "core/archive.hpp"
#include "particle.hpp"

namespace kernelbayes::srvm {

/// Sets (candidates counted from 1), variances and factors.
void transfer(Archive& archive, std::vector<Particle>& particles, int fixed);
/// The inverse bandwidths of each particle, if they are learned.
void transfer_scales(Archive& archive, std::vector<Particle>& particles,
                     const Model& model, Eigen::Index predictors);
/// The spreads of its centres, after these.
void transfer_spreads(Archive& archive, std::vector<Particle>& particles,
                      const Model& model);
/// Their degrees of freedom.
void transfer_df(Archive& archive, std::vector<Particle>& particles,
                 const Model& model);
/// Accumulated sums that cannot be recomputed bit by bit; `latent` of them per
/// particle.
void transfer_sums(Archive& archive, std::vector<Particle>& particles,
                   std::size_t latent);
void transfer(Archive& archive, CandidatePool::State& pool);
void transfer(Archive& archive, Genealogy::State& genealogy, std::size_t n);
/// `steps`: their number.
void transfer(Archive& archive, SmcPath& path, int steps);

/// Rows of candidates, from 1, by candidate number; missing if there is none.
std::vector<int> candidate_rows(const CandidatePool& pool);

}  // namespace kernelbayes::srvm
