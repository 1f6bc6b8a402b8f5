# Standards of rOpenSci's statistical software review that concern no one place
# of the code. The others are in the files that meet them; all are listed in
# STANDARDS.md, which tools/document.R writes.

#' @srrstats {G1.0} The papers are named in `DESCRIPTION`, README.md and the
#'   references of each help page.
#' @srrstats {G1.1} README.md and `?srvm`, `?bark`, `?kgs` and `?kbr` say it:
#'   first implementations in R, but for `bark()`, which improves on the package
#'   bark. Corrections of the papers are named.
#' @srrstats {G1.2} README.md says what may still change; NEWS.md what did.
#' @srrstats {G1.3} Details of each help page define the terms, the vignettes
#'   show them at work.
#' @srrstats {G1.4} All of `man/` comes from roxygen comments.
#' @srrstats {G1.4a} Functions that are not exported have roxygen comments and
#'   `@noRd`; short ones have no text.
#' @srrstats {G1.5} `tools/reproduce/` repeats published experiments; results
#'   are in `vignettes/precomputed`.
#' @srrstats {G1.6} `tools/bench/` measures, `tools/peers.R` and
#'   `tools/peers-tuned.R` compare with other packages.
#' @srrstats {G5.4c} The published tables are repeated by `tools/reproduce/`
#'   and stand beside ours in the articles `bark.Rmd`, `kgs.Rmd` and `srvm.Rmd`
#'   of `vignettes/articles`.
#' @srrstats {BS1.1} Examples of each help page and vignette enter a formula
#'   with data, and x and y.
#' @srrstats {BS1.2} Priors are described in general and by example in three
#'   places.
#' @srrstats {BS1.2a} README.md has them in its examples.
#' @srrstats {BS1.2b} `bark.Rmd` and `srvm.Rmd` of `vignettes/articles`.
#' @srrstats {BS1.2c} `?srvm_prior`, `?bark_prior`, `?noise_beta`, with
#'   examples.
#' @srrstats {BS4.0} Details and references of the help pages of each engine.
#' @srrstats {BS4.1} The articles `bark.Rmd`, `srvm.Rmd`, `kbr.Rmd` and
#'   `kgs.Rmd` of `vignettes/articles` compare with other samplers and methods;
#'   `test-bark-peer.R` with the package bark.
#' @srrstats {RE5.0} `tools/bench/` measures it; README.md and
#'   `vignette("kernelbayes")` tell; `estimate_cost()` continues a pilot run by
#'   the law that its own data show.
#' @noRd
NULL

#' NA_standards
#'
#' Standards that are not applicable, and why.
#'
#' @srrstatsNA {G2.14c} Imputation needs a model of the predictors, which these
#'   models condition on; imputed data can be fitted one by one.
#' @srrstatsNA {G3.1} No covariance of data is estimated. Kernels are chosen by
#'   the user, `kernel_custom()` included.
#' @srrstatsNA {G3.1a} See G3.1.
#' @srrstatsNA {G4.0} The only files are checkpoints, under the name given.
#' @srrstatsNA {G5.11} Extended tests need no downloads.
#' @srrstatsNA {G5.11a} See G5.11.
#' @srrstatsNA {BS1.0} The word is not used: parameters of priors are called by
#'   their names.
#' @srrstatsNA {BS2.7} A state is a set of kernels with coefficients and scales,
#'   whose number varies: a value for it could not be written by hand. Each
#'   chain begins at a random state of its own, drawn from the prior or, where
#'   that would lead nowhere, with small scales or about the mode: dispersed, as
#'   R-hat needs. `update()` begins where a run ended.
#' @srrstatsNA {BS2.11} There are no starting values.
#' @srrstatsNA {BS3.1} Collinear predictors leave distances, and so a kernel,
#'   well defined.
#' @srrstatsNA {BS3.2} See BS3.1. Equal rows are counted and share a kernel.
#' @srrstatsNA {RE2.4} See BS3.1.
#' @srrstatsNA {RE2.4a} See BS3.1; a test shows the answers.
#' @srrstatsNA {RE2.4b} See BS3.1; responses without noise are fitted, with
#'   small noise.
#' @srrstatsNA {RE4.3} Coefficients of kernels have no meaning one by one, and
#'   their number varies: intervals are of f.
#' @srrstatsNA {RE4.6} See RE4.3; covariances of f follow from `predict(type =
#'   "draws")`.
#' @srrstatsNA {RE7.0a} Such data are not refused, since they are no problem:
#'   see BS3.1.
#' @srrstatsNA {RE7.1a} Samplers make the moves that they were told to make,
#'   with and without noise; no test asserts a time.
#' @noRd
NULL
