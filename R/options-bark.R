# Terms beside kernels have priors of their own; the sampler gets them together.
sd_option <- function(word) {
  list(
    used = Negate(is.null),
    check = check_by(check_number, 0, open = TRUE, null = left_open),
    default = unset, truncation = FALSE, shapes = FALSE,
    told = function(sd, n, p) NULL,
    word = word, show = function(sd, all) paste("scale", format(sd))
  )
}

unset <- function(prior, about) NULL

# Where a linear part costs little
most_linear <- c(rows = 4999, inputs = 30)

# Options of bark_prior() beyond the paper's prior, with further columns. The sampler
# reads them by the names in src/glue/bark_from_r.cpp.
#
# * `used`: does a value differ from the default? The sampler receives no
#   others, and print() shows no others.
# * `default`: a function of the prior, with the options above it, and of the fit,
#   `about` of prior_for(), that returns the value in place of NULL.
# * `truncation`: is it defined for the truncation approximation?
# * `shapes`: does it shape kernels? Fits of several unordered classes have
#   plain kernels.
# * `told`: a function of the value and of the numbers of rows and predictors
#   that returns the list for the sampler.
bark_options <- list(
  df = list(
    used = function(df) !(is.null(df) || identical(df, Inf)),
    check = function(df, all, name) {
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
    word = "noise", show = function(df, all) paste("Student's t, df", format(df))
  ),
  own_scales = list(
    used = function(own_scales) !(is.null(own_scales) || isFALSE(own_scales)),
    check = check_by(check_own_scales, null = left_open),
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
    word = "scales", show = function(own_scales, all) {
      paste0(
        "each kernel has its own",
        if (identical(own_scales, "pooled")) ", around common ones",
        if (identical(own_scales, "clustered")) ", or shares those of others"
      )
    }
  ),
  centres = list(
    used = Negate(is.null),
    check = check_by(check_class, "kb_centres", "`centre_rows()`", null = left_open),
    default = function(prior, about) {
      if (identical(prior$own_scales, "clustered")) centre_near_rows(1)
    },
    truncation = FALSE, shapes = TRUE,
    told = function(centres, n, p) centres_resolve(centres, n),
    word = "centres", show = function(centres, all) format(centres)
  ),
  directions = list(
    used = Negate(is.null), check = function(directions, all, name) {
      check_directions(directions, all$centres, all$own_scales)
    },
    default = unset,
    truncation = FALSE, shapes = TRUE,
    told = function(directions, n, p) directions_resolve(directions, p),
    word = "predictors", show = function(directions, all) {
      paste("along", counted(directions, "direction"))
    }
  ),
  linear = list(
    used = function(linear) !is.null(linear) && linear > 0,
    check = check_by(check_number, 0, null = left_open),
    default = function(prior, about) {
      plain <- is.null(prior$directions) && !about$beside && prior$gamma > 0 &&
        !is_truncated_prior(prior)
      few <- about$n <= most_linear[["rows"]] && about$p <= most_linear[["inputs"]]
      if (plain && few) 0.3
    },
    truncation = FALSE, shapes = FALSE,
    told = function(linear, n, p) list(slope_scale = linear),
    word = "linear part", show = function(linear, all) {
      paste("sd of slopes half-t, scale", format(linear))
    }
  ),
  linear_sd = sd_option("coefficients of linear terms"),
  group_sd = sd_option("standard deviations of groups"),
  approximation = list(
    used = function(approximation) identical(approximation, "truncation"),
    check = choice_of(bark_prior),
    default = unset,
    truncation = TRUE, shapes = FALSE,
    told = function(approximation, n, p) list(approximation = approximation),
    word = "approximation", show = function(approximation, all) {
      "truncation, |beta| > eps"
    }
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

# The options as the sampler receives them
options_told <- function(prior, n, p) {
  told <- lapply(used_options(prior), function(name) {
    bark_options[[name]]$told(prior[[name]], n, p)
  })
  unlist(unname(told), recursive = FALSE)
}

used_lines <- function(prior) option_lines(prior, bark_options[used_options(prior)])

# Lines on what prior_for() will decide for numeric responses
undecided_lines <- function(prior) {
  decided <- prior_for(prior, "gaussian")
  open <- Filter(function(name) is.null(prior[[name]]), used_options(decided))
  if (length(open) > 0) {
    c("  numeric responses:\n", paste0("  ", option_lines(decided, bark_options[open])))
  }
}
