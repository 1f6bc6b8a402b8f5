# kbr() for data that do not fit into memory: pairs are read in chunks, twice,
# and summed to matrices of the size of the features.

#' Kernel Bayes' rule in chunks
#'
#' `kbr(kbr_chunks(files))` fits pairs that do not fit into memory: it reads them
#' twice, in chunks, and keeps only sums, of the size of the features squared. The
#' posterior means equal those of [kbr()] in memory with the same `method` and
#' pivots.
#'
#' The features belong to fixed landmarks: pivots of an incomplete Cholesky
#' factorisation of up to `pool` pairs, evenly spaced in up to 20 chunks. If these
#' are all of the data, the features are those of [kbr()] in memory. Passes are
#' divided among [workers][kb_workers], if there are any; each holds one chunk at a
#' time.
#' @param read A function of the number of a chunk that returns its pairs: a
#'   list of `x` (states) and `y` (observations), each a numeric matrix or a
#'   vector, or pairs of [kbr_simulate()]. It is called several times for each
#'   chunk, on any worker, and must return the same pairs each time. Or names
#'   of files, each of which is a chunk: parquet (read by the package
#'   nanoparquet), csv, or rds with a data frame. Or a Dataset of the package
#'   arrow, each file of which is a chunk. The article `sbi` reads from a database.
#' @param n_chunks The number of chunks, at least 1. Not for files.
#' @param states,observations For files and Datasets: names of the columns.
#' @param x The result of `kbr_chunks()`.
#' @param kernel_x,kernel_y,prior,eps,delta,method,support,normalize,scale,seed As
#'   in [kbr()]. A bandwidth `"median"`, bounds that are found and the scaling are
#'   those of the pool.
#' @param rank,tol As in [kbr()], for the pool.
#' @param landmarks `NULL`, or a list of matrices `x` and `y` of points whose
#'   features are used instead of the pool's; `rank` and `tol` then do not
#'   apply.
#' @param pool The largest number of pairs from which landmarks are chosen, at
#'   least 1.
#' @param f `NULL`, or a function of a matrix of states that returns a vector or
#'   matrix with the same number of rows, for `predict(type = "expectation")`.
#' @inheritParams bark
#' @return `kbr_chunks()`: an object of class `kb_chunks`. `kbr()` of it: a fit
#'   as from [kbr()], also of class `kb_kbr_chunked`. Its `predict()` gives
#'   `"mean"`, `"sd"`, `"expectation"`, `"map"` and `"draws"`; types that need all
#'   weights, `update()` and [diagnostics()] are not defined.
#' @section Errors: Chunks that are not pairs of finite numbers, or do not have
#'   the same columns (by name, if they have names), are errors of class
#'   `kb_error_chunk` that name the chunk. Otherwise as for [kbr()].
#' @examples
#' read <- function(i) {
#'   kbr_simulate(
#'     function(n) rnorm(n), function(x) x + 0.5 * rnorm(length(x)),
#'     n = 1000, seed = i
#'   )
#' }
#' fit <- kbr(kbr_chunks(read, n_chunks = 5), rank = 30)
#' predict(fit, c(-1, 1))
#' @export
kbr_chunks <- function(read, n_chunks = NULL, states = NULL,
                       observations = NULL) {
  if (missing(read)) bad_argument(read, "read", "given")
  if (inherits(read, "Dataset")) {
    return(dataset_chunks(read, states, observations))
  }
  if (is.character(read)) {
    if (!is.null(n_chunks)) {
      bad_argument(n_chunks, "n_chunks", "NULL: each file is a chunk")
    }
    return(file_chunks(read, states, observations))
  }
  if (!is.function(read)) {
    bad_argument(
      read, "read", "a function of a number, names of files, or a Dataset"
    )
  }
  for (arg in c("states", "observations")) {
    if (!is.null(get(arg))) {
      bad_argument(get(arg), arg, "NULL: `read` gives the pairs")
    }
  }
  structure(
    list(read = read, n_chunks = check_count(n_chunks, 1)),
    class = "kb_chunks"
  )
}

dataset_chunks <- function(dataset, states, observations) {
  need_package("arrow", "A Dataset")
  files <- dataset$files
  if (length(files) == 0) {
    bad_argument(dataset, "read", "a Dataset of files")
  }
  for (arg in c("states", "observations")) {
    check_column_names(get(arg), arg, names(dataset), "names of columns")
  }
  format <- dataset$format$type
  read <- function(i) {
    table <- arrow_export("open_dataset")(files[[i]], format = format)
    table <- arrow_export("Scanner")$create(table,
      projection = c(states, observations)
    )$ToTable()
    pairs_in(as.data.frame(table), states, observations)
  }
  structure(list(read = read, n_chunks = length(files)), class = "kb_chunks")
}

check_column_names <- function(columns, arg, there = columns, wanted) {
  fine <- is.character(columns) && length(columns) > 0 && !anyNA(columns) &&
    all(columns %in% there)
  if (!isTRUE(fine)) bad_argument(columns, arg, wanted)
}

# Files that workers can find from their own folders
file_chunks <- function(files, states, observations) {
  check_column_names(states, "states", wanted = "names of columns of the files")
  check_column_names(observations, "observations",
    wanted = "names of columns of the files"
  )
  lost <- !file.exists(files)
  if (length(files) == 0 || any(lost)) {
    bad_argument(files[lost], "read", "names of files that exist")
  }
  types <- tolower(tools::file_ext(files))
  other <- setdiff(types, names(table_readers))
  if (length(other) > 0) {
    bad_argument(other, "read", "names of parquet, csv or rds files")
  }
  if ("parquet" %in% types) need_package("nanoparquet", "A parquet file")
  files <- normalizePath(files)
  read <- function(i) {
    table <- table_readers[[types[[i]]]](files[[i]], c(states, observations))
    absent <- setdiff(c(states, observations), names(table))
    if (length(absent) > 0) {
      side <- if (any(states %in% absent)) "x" else "y"
      refuse_chunk(i, side, paste("lacks the columns", toString(absent, 60)))
    }
    pairs_in(table, states, observations)
  }
  structure(list(read = read, n_chunks = length(files)), class = "kb_chunks")
}

# Functions of a file and the names of the columns that are needed
table_readers <- list(
  parquet = function(file, columns) {
    there <- getExportedValue("nanoparquet", "read_parquet_schema")(file)$name
    getExportedValue("nanoparquet", "read_parquet")(
      file, col_select = intersect(columns, there)
    )
  },
  csv = function(file, columns) utils::read.csv(file, check.names = FALSE),
  rds = function(file, columns) readRDS(file)
)

pairs_in <- function(table, states, observations) {
  list(
    x = as.matrix(table[states]), y = as.matrix(table[observations])
  )
}

#' @export
print.kb_chunks <- function(x, ...) {
  cat(counted(x$n_chunks, "chunk"), "of pairs\n")
  invisible(x)
}

# The fit ----------------------------------------------------------------------

#' @rdname kbr_chunks
#' @export
kbr.kb_chunks <- function(x, kernel_x = kernel_gaussian(),
                          kernel_y = kernel_gaussian(), prior = NULL,
                          eps = NULL, delta = NULL, rank = "auto", tol = NULL,
                          method = c("kbr", "iw"), support = NULL,
                          normalize = TRUE, scale = FALSE, landmarks = NULL,
                          pool = 5000, f = NULL, seed = NULL, progress = NULL,
                          ...) {
  started <- now()
  check_no_dots(...)
  progress <- check_progress(progress)
  pool <- chunk_pool(x, check_count(pool, 1))
  method <- check_choice(method, c("kbr", "iw"))
  model <- chunk_model(
    pool, landmarks, kernel_x, kernel_y, rank, tol, check_flag(scale)
  )
  model$target <- check_states_function(f)
  warn_unexplained(model$features$states, "kernel_x")
  warn_unexplained(model$features$observations, "kernel_y")
  first <- chunk_pass(x, "chunks_first", model, progress)
  n <- first$n
  settings <- c(
    kbr_regularisation(eps, delta, n, method),
    list(
      rank = rank, tol = tol, method = method,
      normalize = check_flag(normalize),
      support = kbr_support(support, pool$x, kernel_x),
      found = is.null(support), scale = scale, scaling = model$scaling
    )
  )
  fit <- new_chunked(pool, settings, model, n, draw_seed(seed))
  fit <- chunk_posterior(fit, x, model, first, prior, progress)
  fit$call <- plain_call(match.call())
  fit$seconds <- now() - started
  sealed(fit)
}

check_states_function <- function(f) {
  if (is.null(f) || is.function(f)) {
    return(f)
  }
  bad_argument(f, "f", "NULL or a function of the matrix of states")
}

# A fit before its posterior. Its data are the first row of the pool, for the
# column names.
new_chunked <- function(pool, settings, model, n, seed) {
  # Columns that are constant in the pool may vary in other rows.
  mould <- suppressMessages(
    mould_xy(pool$y, pool$x, "fail", "matrix", args = c("y", "x")),
    "kb_message_constant"
  )
  mould["constant"] <- list(NULL)
  new_object(
    list(
      version = fit_version, mould = mould_empty(mould, rows = FALSE),
      settings = settings,
      data = list(
        states = mould$y[0, , drop = FALSE],
        observations = mould$x[0, , drop = FALSE]
      ),
      seed = seed, time = n, sequence = integer(), status = "complete",
      far = learn_far(mould$x), features = model$features
    ),
    class = c("kb_kbr_chunked", "kb_kbr", "kb_fit")
  )
}

# Scaling and features of landmarks
chunk_model <- function(pool, landmarks, kernel_x, kernel_y, rank, tol, scale) {
  scaling <- list(
    x = scaling_learn(pool$x, factor(), scale),
    y = scaling_learn(pool$y, factor(), scale)
  )
  if (is.null(landmarks)) {
    landmarks <- pool
  } else {
    landmarks <- check_landmarks(landmarks, pool)
    if (!identical(rank, "auto") || !is.null(tol)) {
      arg <- if (is.null(tol)) "rank" else "tol"
      bad_argument(list(rank, tol)[[1 + !is.null(tol)]], arg,
        "left out: there are as many features as landmarks"
      )
    }
    rank <- "full"
  }
  build <- function(kernel, side, arg) {
    kernel <- check_kernel(kernel, arg)
    refuse_scaled_rotations(kernel, scale, arg)
    check_kernel_dimension(kernel, ncol(pool[[side]]))
    refuse_no_rotations(kernel, pool[[side]], arg)
    kernel <- kernel_resolve(kernel, scaling_x(scaling[[side]], pool[[side]]))
    found <- kernel_features(
      kernel, scaling_x(scaling[[side]], landmarks[[side]]), rank, tol
    )
    # Only the rows of the factor at the pivots are needed.
    found$factor <- found$factor[found$pivots, , drop = FALSE]
    found$pivots <- seq_along(found$pivots)
    found
  }
  list(
    scaling = list(states = scaling$x, observations = scaling$y),
    columns = lapply(pool, utils::head, 0),
    features = list(
      states = build(kernel_x, "x", "kernel_x"),
      observations = build(kernel_y, "y", "kernel_y")
    )
  )
}

check_landmarks <- function(landmarks, pool) {
  if (!is.list(landmarks) || !setequal(names(landmarks), c("x", "y")) ||
    length(landmarks) != 2) {
    bad_argument(landmarks, "landmarks", "NULL or a list of `x` and `y`")
  }
  for (side in c("x", "y")) {
    arg <- paste0("landmarks$", side)
    points <- check_some_points(landmarks[[side]], arg)
    landmarks[[side]] <- check_points_like(points, pool[[side]], arg)
  }
  landmarks
}

# Chunks -----------------------------------------------------------------------

#' One chunk as numeric matrices
#' @param like Matrices `x` and `y` that have the columns, or NULL for the first
#'   chunk.
#' @noRd
read_chunk <- function(chunks, i, like = NULL) {
  pairs <- call_user(
    chunks$read, of_argument("read", errors = "chunk"), NULL, i
  )
  if (!is.list(pairs)) {
    kb_abort(c(
      "Chunk {i} must be a list of {.code x} and {.code y}.",
      x = "It is {describe(pairs)}."
    ), "chunk", chunk = i, call = NULL)
  }
  out <- lapply(c(x = "x", y = "y"), function(side) {
    check_chunk_side(pairs[[side]], like[[side]], function(problem) {
      refuse_chunk(i, side, problem)
    })
  })
  if (nrow(out$x) != nrow(out$y)) {
    refuse_chunk(i, "y", paste(
      "has", nrow(out$y), "rows where `x` has", nrow(out$x)
    ))
  }
  out
}

check_chunk_side <- function(part, like, refuse) {
  if (is.data.frame(part)) part <- as.matrix(part)
  if (!is.numeric(part) || length(dim(part)) > 2 || length(part) == 0) {
    refuse(paste("is", describe(part)))
  }
  part <- if (is.matrix(part)) part else matrix(part)
  storage.mode(part) <- "double"
  if (!all(is.finite(part))) refuse("has missing or infinite values")
  if (is.null(like)) {
    return(part)
  }
  if (ncol(part) != ncol(like)) {
    refuse(paste("has", counted(ncol(part), "column"), "and not", ncol(like)))
  }
  named <- !is.null(colnames(part)) && !is.null(colnames(like))
  if (named && !identical(colnames(part), colnames(like))) {
    refuse(paste(
      "has the columns", toString(colnames(part), 60), "and not",
      toString(colnames(like), 60)
    ))
  }
  part
}

refuse_chunk <- function(i, side, problem) {
  kb_abort(c(
    "Chunk {i} must have pairs of finite numbers, {.code x} and {.code y}.",
    x = "Its {.code {side}} {problem}."
  ), "chunk", chunk = i, call = NULL)
}

# Pairs from which landmarks are chosen
chunk_pool <- function(chunks, size) {
  chosen <- spread_over(chunks$n_chunks, min(chunks$n_chunks, 20))
  each <- ceiling(size / length(chosen))
  first <- NULL
  parts <- lapply(chosen, function(i) {
    pairs <- read_chunk(chunks, i, first)
    if (is.null(first)) first <<- lapply(pairs, utils::head, 0)
    rows <- spread_over(nrow(pairs$x), min(nrow(pairs$x), each))
    lapply(pairs, function(part) part[rows, , drop = FALSE])
  })
  bind <- function(side) do.call(rbind, lapply(parts, `[[`, side))
  list(x = bind("x"), y = bind("y"))
}

#' Sum the values of a function over the chunks, in their order
#' @param name Name of a function of pairs and `model` that returns a list of
#'   numeric arrays.
#' @noRd
chunk_pass <- function(chunks, name, model, progress) {
  # The groups, and so the order of the sums, do not depend on the workers.
  pieces <- min(chunks$n_chunks, 64)
  groups <- split(
    seq_len(chunks$n_chunks), sort(rep_len(seq_len(pieces), chunks$n_chunks))
  )
  shared <- list(chunks = chunks, name = name, model = model)
  out <- map_tasks(groups, "chunk_group", shared, progress, "Chunks")
  if (!all(out$done)) refuse_stop("before all chunks were read")
  add_up(out$values)
}

# A group of chunks, one after the other, in blocks of rows whose features (1.6 MB) stay in the cache
chunk_group <- function(numbers, shared) {
  work <- get(shared$name, asNamespace("kernelbayes"))
  rank <- max(vapply(shared$model$features, function(side) {
    length(side$pivots)
  }, 1L))
  sums <- NULL
  for (i in numbers) {
    pairs <- read_chunk(shared$chunks, i, shared$model$columns)
    for (rows in row_blocks(pairs$x, rank, 2e5)) {
      block <- lapply(pairs, function(part) part[rows, , drop = FALSE])
      sums <- add_up(list(sums, work(block, shared$model)))
    }
  }
  sums
}

# Sums of lists of arrays, element by element
add_up <- function(parts) {
  parts <- Filter(Negate(is.null), parts)
  Reduce(function(a, b) Map(`+`, a, b), parts)
}

# The passes -------------------------------------------------------------------

scaled_features <- function(model, points, side) {
  incomplete_cholesky_features(
    model$features[[side]], scaling_x(model$scaling[[side]], points)
  )
}

# First pass: sums for the sum rule
chunks_first <- function(pairs, model) {
  phi <- scaled_features(model, pairs$x, "states")
  list(
    n = nrow(phi), gram = crossprod_cpp(phi), sum = colSums(phi),
    states = colSums(pairs$x)
  )
}

#' Second pass: sums for observations
#' @param model With `coef` (of mu along the features of the states), `center`
#'   (of the states) and `positive`: is mu clipped at 0 (the importance-weighted
#'   form)?
#' @noRd
chunks_second <- function(pairs, model) {
  phi_x <- scaled_features(model, pairs$x, "states")
  phi_y <- scaled_features(model, pairs$y, "observations")
  mu <- as.vector(phi_x %*% model$coef)
  if (model$positive) mu <- pmax(mu, 0)
  centred <- sweep(pairs$x, 2, model$center)
  values <- if (!is.null(model$target)) {
    check_function_values(model$target, pairs$x, "f")
  }
  list(
    gram = crossprod_cpp(phi_y, weights = mu),
    moments = crossprod_cpp(cbind(1, centred, centred^2), phi_y, mu),
    cross = crossprod_cpp(phi_x, phi_y, mu),
    values = crossprod(if (is.null(values)) {
      matrix(0, length(mu), 0)
    } else {
      values * mu
    }, phi_y),
    mass = features_mass_cpp(phi_y, mu)
  )
}

chunk_posterior <- function(fit, chunks, model, first, prior, progress) {
  fit["prior"] <- list(check_prior(prior, fit))
  if (!is.null(fit$prior) && is.null(fit$prior$points)) {
    bad_argument(prior, "prior", "NULL or a list with `points`")
  }
  fit$prior_mean <- if (is.null(fit$prior)) {
    first$sum / first$n
  } else {
    prior_features(fit)
  }
  model$coef <- ridge_coefficients(
    first$gram, as.matrix(fit$prior_mean), first$n * fit$settings$eps
  )
  model$center <- first$states / first$n
  model$positive <- fit$settings$method == "iw"
  second <- chunk_pass(chunks, "chunks_second", model, progress)
  gain <- kbr_gain_cpp(second$gram, fit$settings$delta, !model$positive)
  fit$posterior <- c(
    list(gain = gain$matrix, spectrum = gain$spectrum, center = model$center),
    second[c("moments", "cross", "values", "mass")]
  )
  fit
}

# Methods ----------------------------------------------------------------------

# The posterior's kernel means on the landmarks of the states, always signed
#' @export
kernel_mean_points.kb_kbr_chunked <- function(fit, seen, signed = TRUE) {
  features <- fit$features$states
  mean <- fit$posterior$cross %*% seen$coef
  mean <- sweep(mean, 2, raw_moments(fit, seen)[1, ], "/")
  list(
    points = unscale_states(fit, features$points), scaled = features$points,
    weights = t(backsolve(t(features$factor), mean)),
    value = features$factor %*% mean
  )
}

#' @export
function_moments.kb_kbr_chunked <- function(fit, f) {
  if (!is.null(f)) {
    bad_argument(f, "f", "NULL: it was given when the chunks were read")
  }
  if (nrow(fit$posterior$values) == 0) {
    kb_abort(c(
      "{.code type = \"expectation\"} needs a function.",
      i = "For chunks give it as {.arg f} of {.fn kbr}."
    ), "argument", argument = "f")
  }
  fit$posterior$values
}

#' @export
update.kb_kbr_chunked <- function(object, ...) chunked_has_no("update")

#' @export
diagnostics.kb_kbr_chunked <- function(object, ...) {
  chunked_has_no("diagnostics")
}

#' @export
summary.kb_kbr_chunked <- function(object, ...) chunked_has_no("summary")

#' @export
fitted.kb_kbr_chunked <- function(object, ...) chunked_has_no("fitted")

#' @export
plot.kb_kbr_chunked <- function(x, ...) chunked_has_no("plot")

#' @exportS3Method ggplot2::autoplot
autoplot.kb_kbr_chunked <- function(object, ...) chunked_has_no("autoplot")

#' @export
model.matrix.kb_kbr_chunked <- function(object, ...) {
  chunked_has_no("model.matrix")
}

chunked_has_no <- function(what) {
  kb_abort(c(
    "{.fn {what}} is not defined for a fit of chunks.",
    x = "It needs the pairs, which were not kept.",
    i = "Fit part of the pairs in memory."
  ), "not_defined")
}

# Exports of the package arrow, which is not suggested because it is hard to
# install
arrow_export <- function(name) getExportedValue("arrow", name)
