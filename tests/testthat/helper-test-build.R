# C++ entries of tests/cpp exist only in test builds (made by tools/test.R):
# elsewhere, tests that call them are skipped.

test_entries <- c(
  "advance_counters_cpp",
  "arithmetic_cpp", "normal_times_cpp",
  "bark_backfit_cpp",
  "bark_candidates_cpp",
  "bark_exchange_cpp",
  "bark_fields_exchange_cpp",
  "bark_fields_invariance_cpp",
  "bark_fields_latent_cpp",
  "bark_geweke_cpp",
  "bark_glm_fields_pairs_cpp",
  "bark_glm_pairs_cpp",
  "bark_glm_rows_cpp",
  "bark_groups_law_cpp",
  "bark_intervals_cpp",
  "bark_invariance_cpp",
  "bark_latent_cpp",
  "bark_moves_cpp",
  "bark_open_moves_cpp",
  "bark_open_places_cpp",
  "bark_open_trajectory_cpp",
  "bark_places_cpp",
  "bark_prior_shapes_cpp",
  "bark_row_parts_cpp",
  "bark_state_cpp",
  "bark_terms_classes_cpp",
  "bark_terms_fields_cpp",
  "bark_terms_law_cpp",
  "bark_terms_state_cpp",
  "bark_truncated_exchange_cpp",
  "bark_truncated_geweke_cpp",
  "bark_truncated_invariance_cpp",
  "bark_truncated_proposal_cpp",
  "bark_truncated_walk_cpp",
  "bark_turns_cpp",
  "bark_varying_pairs_cpp",
  "bark_walk_cpp",
  "cholesky_script_cpp",
  "kgs_angles_cpp",
  "kgs_ledger_cpp",
  "kgs_truncated_beta_cpp",
  "log_normal_between_cpp",
  "log_normal_cdf_cpp",
  "normal_between_cpp",
  "normal_excess_cpp",
  "resampling_schemes_cpp",
  "rng_draws_cpp",
  "squared_solve_cpp",
  "srvm_adapted_cpp",
  "srvm_birth_death_cpp",
  "srvm_extend_cpp",
  "srvm_gibbs_cpp",
  "srvm_noise_draw_cpp",
  "srvm_moves_cpp",
  "srvm_probit_cpp",
  "srvm_ratios_cpp",
  "srvm_drop_cpp"
)

for (entry in test_entries) {
  if (!exists(entry, envir = asNamespace("kernelbayes"), inherits = FALSE)) {
    assign(entry, function(...) skip("needs a test build (tools/test.R)"))
  }
}
rm(entry)
