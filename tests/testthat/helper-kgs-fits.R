# Fits of kgs() shared by several test files; short, since mixing does not
# matter.

#' Of the paper's model
kgs_quick <- function(..., nugget = 0, chains = 2, iter = 40, warmup = 40,
                      seed = 1) {
  muffle <- function(w) invokeRestart("muffleWarning")
  withCallingHandlers(
    kgs(...,
      nugget = nugget, control = mcmc_control(chains, warmup, iter), seed = seed
    ),
    kb_warning_convergence = muffle
  )
}

kgs_example <- function() {
  out <- sim_moons(40, flips = 0.1, seed = 3, truth = TRUE)
  out$g <- factor(rep(c("a", "b", "c", "a"), 10))
  out$side <- factor(ifelse(out$y == "1", "right", "left"))
  out$three <- cut(out$x1, c(-Inf, 0, 1.5, Inf), c("low", "mid", "high"))
  out
}

#' Half of the labels of one side are wrong, and none of the other: most rows of
#' the first side have a true class that is not the most probable label
kgs_by_class <- function() {
  x <- seq(-2, 2, length.out = 80)
  side <- ifelse(x > 0 & seq_along(x) %% 2 > 0, "right", "left")
  kgs_quick(data.frame(x = x), factor(side), noise = noise_class(), iter = 200)
}

kgs_fits <- local({
  fits <- NULL
  function() {
    if (is.null(fits)) {
      data <- kgs_example()
      fits <<- list(
        moons = kgs_quick(side ~ x1 + x2, data),
        line = kgs_quick(data$x1, data$y, noise = noise_class()),
        factor = kgs_quick(side ~ x1 + x2 + g, data, noise = 0.15),
        nugget = kgs_quick(side ~ x1 + x2, data,
          nugget = 0.3, method = "block"
        ),
        three = kgs_quick(three ~ x1 + x2, data),
        low_rank = kgs_quick(as.matrix(data[c("x1", "x2")]), data$side,
          rank = 12, method = "circle", kernel = kernel_gaussian(1.5)
        ),
        hard = kgs_quick(clean ~ x1 + x2, data,
          noise = 0, kernel = kernel_gaussian(0.2)
        )
      )
    }
    fits
  }
})
