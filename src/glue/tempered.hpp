// Chains and ladders from R, shared by the glue of bark and kgs.
#pragma once

#include <memory>
#include <utility>

#include "core/tempered.hpp"
#include "glue/archive.hpp"
#include "glue/lists.hpp"

/// A ladder if the config has `rungs`, otherwise a chain.
inline kernelbayes::Schedule schedule_from_r(const Rcpp::List& config,
                                             const char* rungs) {
  kernelbayes::Schedule out;
  out.warmup = count_from_r(config, "warmup");
  out.iterations = count_from_r(config, "iter", 1, kMostCount - out.warmup);
  out.ladder = config.containsElementNamed(rungs);
  if (!out.ladder) out.thin = count_from_r(config, "thin", 1);
  out.seed = run_seed(config, "chain");
  return out;
}

template <class Level>
SEXP open_tempered(const kernelbayes::Schedule& schedule,
                   typename Level::Model model,
                   const Rcpp::Nullable<Rcpp::List>& state) {
  return open_machine(std::make_unique<kernelbayes::Tempered<Level>>(
                          schedule, std::move(model)),
                      state);
}
