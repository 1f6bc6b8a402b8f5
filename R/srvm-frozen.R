# Bandwidths for a bounded memory. Particles with bandwidths of their own need
# all rows, so these are learned from the first rows and then fixed.

fixes_bandwidths <- function(settings) {
  learns_scales(settings) && is_bounded(settings$memory)
}

#' Settings whose bandwidths are posterior medians given the first rows
#' @param given,control As in `srvm_fit()`.
#' @param sequence The order of the rows.
#' @noRd
fix_bandwidths <- function(settings, given, control, mould, sequence, started) {
  rows <- utils::head(sequence, settings$memory$bandwidth_rows)
  mould <- mould_of(mould, pick_data(fit_data(mould), rows))
  free <- settings
  free$memory <- srvm_memory()
  # Beside a linear part they are half as wide, and then a bounded number of
  # kernels approximates f less well.
  free$linear <- no_linear_part
  given[c("reference", "control", "order")] <- list(
    free, control_of_bandwidths(control), "given"
  )
  stage <- run_stage(suppressWarnings(
    srvm_fit(mould, given, quote(srvm()), started),
    classes = "kb_warning_time_limit"
  ))
  first <- stage$value
  if (stage$halted) refuse_stop("before the bandwidths were learned")
  if (first$status != "complete") refuse_stopped(first, length(rows))
  settings$kernel <- kernel_fill(
    settings$kernel, "ard", median_bandwidths(first)
  )
  settings$inverse_bandwidth <- NULL
  settings$bandwidth_rows <- length(rows)
  settings
}

# Moves and sweeps, which a stream may do without, learn the bandwidths.
control_of_bandwidths <- function(control) {
  control$replicates <- 1L
  control$sweep_every <- 1L
  if (control$n_moves == 0) control$n_moves <- smc_control()$n_moves
  control
}

refuse_stopped <- function(fit, n) {
  kb_abort(c(
    "{.fn srvm} was stopped before it had learned the bandwidths.",
    x = "It had seen {fit$time} of the {n} rows from which they are learned.",
    i = "Give it more time, fewer {.arg bandwidth_rows} in {.fn srvm_memory}, or a
         {.arg kernel} with bandwidths."
  ), fit$status)
}
