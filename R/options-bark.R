# Terms beside kernels have priors of their own; the sampler gets them together.
sd_option <- function(name, what) {
  force(what)
  list(
    used = Negate(is.null), check = function(sd, options) {
      if (!is.null(sd)) check_number(sd, 0, open = TRUE, arg = name)
    },
    default = unset, truncation = FALSE, shapes = FALSE,
    told = function(sd, n, p) NULL,
    line = function(sd) paste0(what, ": scale ", format(sd))
  )
}

unset <- function(prior, about) NULL

# Where a linear part costs little
most_linear <- c(rows = 4999, inputs = 30)

# Options of bark_prior() beyond the paper's prior, one row each; the sampler
# reads them by the names in src/glue/bark_from_r.cpp.
#
# * `used`: does a value differ from the default? The sampler receives no
#   others.
# * `check`: a function of the value and of all options that returns the cleaned
#   value.
# * `default`: a function of the prior, with the options above it, and of the fit,
#   `about` of prior_for(), that returns the value in place of NULL.
# * `truncation`: is it defined for the truncation approximation?
# * `shapes`: does it shape kernels? Fits of several unordered classes have
#   plain kernels.
# * `told`: a function of the value and of the numbers of rows and predictors
#   that returns the list for the sampler.
# * `line`: the line that print() shows.
bark_options <- list(
  df = list(
    used = function(df) !(is.null(df) || identical(df, Inf)),
    check = function(df, options) {
      if (is.null(df) || identical(df, "learned")) {
        return(df)
      }
      check_df(df, FALSE, "learned")
    },
    default = function(prior, about) if (about$numbers) "learned" else Inf,
    truncation = FALSE, shapes = FALSE,
    told = function(df, n, p) {
      list(df = if (identical(df, "learned")) learned_df else df)
    },
    line = function(df) paste("noise: Student's t, df", format(df))
  ),
  own_scales = list(
    used = function(own_scales) !(is.null(own_scales) || isFALSE(own_scales)),
    check = function(own_scales, options) {
      if (!is.null(own_scales)) check_own_scales(own_scales)
    },
    default = function(prior, about) {
      own <- about$numbers && is.null(prior$directions)
      few <- about$n < most_clustered_rows
      if (own && about$beside && few) "clustered" else own
    },
    truncation = FALSE, shapes = TRUE,
    told = function(own_scales, n, p) {
      c(
        list(own_scales = TRUE),
        if (identical(own_scales, "pooled")) list(pool = pool_prior),
        if (identical(own_scales, "clustered")) {
          list(concentrations = concentrations)
        }
      )
    },
    line = function(own_scales) {
      paste0(
        "each kernel has its own scales",
        if (identical(own_scales, "pooled")) ", around common ones",
        if (identical(own_scales, "clustered")) ", or shares those of others"
      )
    }
  ),
  centres = list(
    used = Negate(is.null), check = function(centres, options) {
      if (!is.null(centres)) {
        check_class(centres, "kb_centres", "`centre_rows()`", "centres")
      }
    },
    default = function(prior, about) {
      if (identical(prior$own_scales, "clustered")) centre_near_rows(1)
    },
    truncation = FALSE, shapes = TRUE,
    told = function(centres, n, p) centres_resolve(centres, n),
    line = function(centres) paste0("centres: ", format(centres))
  ),
  directions = list(
    used = Negate(is.null), check = function(directions, options) {
      check_directions(directions, options$centres, options$own_scales)
    },
    default = unset,
    truncation = FALSE, shapes = TRUE,
    told = function(directions, n, p) directions_resolve(directions, p),
    line = function(directions) {
      paste("kernels use predictors along", counted(directions, "direction"))
    }
  ),
  linear = list(
    used = function(linear) !is.null(linear) && linear > 0,
    check = function(linear, options) {
      if (!is.null(linear)) check_number(linear, 0)
    },
    default = function(prior, about) {
      plain <- is.null(prior$directions) && !about$beside && prior$gamma > 0 &&
        !is_truncated_prior(prior)
      few <- about$n <= most_linear[["rows"]] && about$p <= most_linear[["inputs"]]
      if (plain && few) 0.3
    },
    truncation = FALSE, shapes = FALSE,
    told = function(linear, n, p) list(slope_scale = linear),
    line = function(linear) {
      paste("linear part: sd of slopes half-t, scale", format(linear))
    }
  ),
  linear_sd = sd_option("linear_sd", "coefficients of linear terms"),
  group_sd = sd_option("group_sd", "standard deviations of groups"),
  approximation = list(
    used = function(approximation) identical(approximation, "truncation"),
    check = function(approximation, options) {
      check_choice(approximation, c("continuous", "truncation"))
    },
    default = unset,
    truncation = TRUE, shapes = FALSE,
    told = function(approximation, n, p) list(approximation = approximation),
    line = function(approximation) "approximation: truncation, |beta| > eps"
  )
)

# The options of a prior that differ from their defaults
used_options <- function(prior) {
  Filter(function(name) {
    isTRUE(bark_options[[name]]$used(prior[[name]]))
  }, names(bark_options))
}

# Used options for which a column of the table is `what`
options_where <- function(prior, part, what) {
  used <- used_options(prior)
  used[vapply(bark_options[used], `[[`, NA, part) == what]
}

check_options <- function(options) {
  for (name in names(options)) {
    options[name] <- list(bark_options[[name]]$check(options[[name]], options))
  }
  if (options$approximation == "truncation") {
    refuse_with_truncation(options_where(options, "truncation", FALSE))
  }
  options
}

# The options as the sampler receives them
options_told <- function(prior, n, p) {
  told <- lapply(used_options(prior), function(name) {
    bark_options[[name]]$told(prior[[name]], n, p)
  })
  unlist(unname(told), recursive = FALSE)
}

option_lines <- function(prior) {
  vapply(used_options(prior), function(name) {
    paste0("  ", bark_options[[name]]$line(prior[[name]]), "\n")
  }, "")
}
