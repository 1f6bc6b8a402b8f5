# Another prior or another regularisation for a fit of kbr().

#' Another prior, without new factors
#'
#' The factors of both kernels are kept; only quantities that depend on the
#' prior are recomputed, in O(n r^2 + r^3).
#'
#' @param object A fit of [kbr()].
#' @param prior,eps,delta,normalize As in [kbr()]; omitted arguments keep their
#'   values. `delta` is not for the method `"adjusted"`, which learns its
#'   regression again with the weights of the prior.
#' @param ... Not used: unknown arguments are errors.
#' @return A fit of [kbr()].
#' @section Errors: As in [kbr()].
#' @examples
#' x <- rnorm(300)
#' fit <- kbr(x, x + 0.5 * rnorm(300))
#' predict(fit, 1)
#' predict(update(fit, prior = list(points = rnorm(300, -1))), 1)
#' @export
update.kb_kbr <- function(object, prior, eps = NULL, delta = NULL,
                          normalize = NULL, ...) {
  object <- checked_fit(object, ...)
  started <- now()
  prior <- if (missing(prior)) object$prior else prior
  settings <- object$settings
  if (inherits(eps, "kb_kbr_schedule")) {
    changed <- kbr_regularisation(eps, delta, object$time, settings$method)
    eps <- changed$eps
    delta <- changed$delta
  }
  if (settings$method == "adjusted" && !is.null(delta)) {
    bad_argument(delta, "delta", "NULL: the method \"adjusted\" has none")
  }
  if (!is.null(eps)) settings$eps <- check_positive(eps, "eps")
  if (!is.null(delta)) settings$delta <- check_positive(delta, "delta")
  if (!is.null(normalize)) settings$normalize <- check_flag(normalize)
  object$settings <- settings
  object <- set_prior(object, prior)
  warn_prior_mass(object)
  object$call <- plain_call(match.call())
  object$seconds <- now() - started
  object
}
