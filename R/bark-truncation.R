# The truncation approximation of bark(): its sampler as an engine of
# run_engine(), and what is not defined for it.

#' @noRd
is_truncated <- function(fit) is_truncated_prior(fit$settings$prior)

#' @noRd
is_truncated_prior <- function(prior) {
  is.list(prior) && identical(prior$approximation, "truncation")
}

#' There is one kind of sweep
#' @noRd
refuse_truncated <- function(prior, control, call) {
  if (is_truncated_prior(prior) && control$sweep == "single") {
    kb_abort(c(
      "{.code sweep = \"single\"} is not defined for {.code approximation =
       \"truncation\"}.",
      i = "It is there to compare the sampler of the continuous approximation
           with that of other implementations. Use {.code sweep = \"full\"}."
    ), c("not_defined", "argument"), argument = "sweep", call = call)
  }
}

#' What its sampler does not know
#' @param given Named flags.
#' @noRd
refuse_with_truncation <- function(given, call = rlang::caller_env()) {
  if (any(given)) {
    kb_abort(c(
      "{.arg {names(which(given))}} must be left out with {.code approximation =
       \"truncation\"}.",
      i = "It belongs to the continuous approximation."
    ), c("not_defined", "argument"), argument = names(which(given))[[1]],
    call = call)
  }
}

#' @noRd
refuse_truncated_classes <- function(prior, family, call) {
  if (is_truncated_prior(prior) && !family %in% c("gaussian", "probit")) {
    kb_abort(c(
      "{.code approximation = \"truncation\"} is not defined for more than two
       classes.",
      i = "Use the continuous approximation, the default."
    ), c("not_defined", "argument"), argument = "approximation", call = call)
  }
}

# The engine -------------------------------------------------------------------

#' @export
engine_open.kb_engine_bark_truncated <- function(engine, index, state) {
  config <- c(engine$config, list(chain = index))
  bark_truncated_open_cpp(config, engine$x, engine$y, engine$weights, state)
}

#' @export
engine_advance.kb_engine_bark_truncated <- function(engine, handle, n) {
  bark_truncated_advance_cpp(handle, n)
}

#' @export
engine_snapshot.kb_engine_bark_truncated <- function(engine, handle) {
  bark_truncated_snapshot_cpp(handle)
}

#' @export
engine_close.kb_engine_bark_truncated <- function(engine, handle) {
  bark_truncated_close_cpp(handle)
}

#' @export
engine_grown.kb_engine_bark_truncated <- function(engine) {
  list("draws", "log_ratio")
}
