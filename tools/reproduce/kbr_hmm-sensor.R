# kbr_hmm() and its peers on two real series with sensors:
#
#   Rscript tools/reproduce/kbr_hmm-sensor.R [--data=air,wifi] [--folder=F]
#     [--output=F]
#
#   --data=    some of air, wifi, air-tune, wifi-tune
#   --folder=  where packages with data are kept; default: a temporary one
#   --output=  default vignettes/precomputed/kbr_hmm_sensor.rds
#
# "filter" uses observations up to the same time, "ahead" up to the one before.

# ---- kbr_hmm() --------------------------------------------------------------

hmm_sensor <- function(...) {
  function(train, test, ahead) {
    hmm <- kbr_hmm(train$states, train$observations,
      group = train$group, seed = 1, ...
    )
    rows <- split(seq_along(test$group), test$group)
    parts <- lapply(rows, function(i) {
      walk_sensor(hmm, test$observations[i, , drop = FALSE], ahead)
    })
    mean <- do.call(rbind, lapply(parts, `[[`, "mean"))
    quantiles <- array(0, c(dim(mean), length(levels19)))
    for (i in seq_along(rows)) {
      quantiles[rows[[i]], , ] <- parts[[i]]$quantiles
    }
    mean[unlist(rows), ] <- mean
    list(mean = mean, quantiles = quantiles)
  }
}

describe_sensor <- function(path) {
  list(
    mean = predict(path),
    quantiles = unname(predict(path, type = "quantile", probs = levels19))
  )
}

# One step ahead by forecasts from filters of one row after the other; the
# first time, which nothing precedes, is not scored.
walk_sensor <- function(hmm, y, ahead) {
  if (!ahead) {
    return(describe_sensor(kbr_filter(hmm, y, progress = FALSE)))
  }
  path <- kbr_filter(hmm, y[1, , drop = FALSE], progress = FALSE)
  out <- describe_sensor(path)
  for (t in seq_len(nrow(y))[-1]) {
    next_one <- describe_sensor(kbr_forecast(path))
    out$mean <- rbind(out$mean, next_one$mean)
    out$quantiles <- abind_first(out$quantiles, next_one$quantiles)
    path <- update(path, y[t, , drop = FALSE], progress = FALSE)
  }
  out
}

abind_first <- function(a, b) {
  size <- dim(a) + c(dim(b)[[1]], 0, 0)
  out <- array(0, size)
  out[seq_len(nrow(a)), , ] <- a
  out[nrow(a) + seq_len(nrow(b)), , ] <- b
  out
}

# ---- scores -----------------------------------------------------------------

# Squared error relative to the variance of the test states (each, and both
# together), coverage of 90% intervals and the continuous ranked probability
# score (mean over 19 quantiles) relative to the standard deviation (likewise).
score <- function(got, test, ahead) {
  rows <- usable(test, ahead)
  x <- test$states[rows, ]
  variance <- apply(x, 2, stats::var, na.rm = TRUE)
  error <- colMeans((got$mean[rows, ] - x)^2, na.rm = TRUE)
  out <- c(mse = sum(error) / sum(variance), error / variance)
  names(out)[-1] <- paste0("mse.", seq_along(error))
  if (is.null(got$quantiles)) {
    return(c(out, coverage = NA, crps = NA, crps.1 = NA, crps.2 = NA))
  }
  q <- got$quantiles[rows, , ]
  inside <- x >= q[, , 1] & x <= q[, , 19]
  loss <- vapply(1:19, FUN.VALUE = error, function(i) {
    below <- x < q[, , i]
    colMeans((below - levels19[i]) * (q[, , i] - x), na.rm = TRUE)
  })
  crps <- 2 * rowMeans(loss)
  each <- crps / sqrt(variance)
  names(each) <- paste0("crps.", seq_along(each))
  c(out, coverage = mean(inside, na.rm = TRUE),
    crps = sum(crps) / sum(sqrt(variance)), each)
}

run_sensor <- function(name, methods) {
  data <- sensor_data(name)
  hidden <- data$test
  hidden$states[] <- 0
  all <- expand.grid(
    method = names(methods), ahead = c(FALSE, TRUE), stringsAsFactors = FALSE
  )
  scores <- lapply(seq_len(nrow(all)), function(i) {
    message(name, ", ", all$method[[i]], if (all$ahead[[i]]) ", ahead")
    time <- system.time(
      got <- methods[[all$method[[i]]]](data$train, hidden, all$ahead[[i]])
    )
    c(score(got, data$test, all$ahead[[i]]), seconds = sum(time[1:2]))
  })
  cbind(data = name, all, do.call(rbind, scores))
}

main <- function() {
  start <- start_script(c("data", "folder"), needs = "reproduce_kbr_hmm_sensor")
  folder <- start$options$folder
  sensor_folder <<- if (is.null(folder)) tempfile("sensor") else folder
  data <- start$options$data
  data <- if (is.null(data)) c("air", "wifi") else strsplit(data, ",")[[1]]
  methods <- c(list(
    "kbr_hmm" = hmm_sensor(), "kbr_hmm, rule" = hmm_sensor(method = "kbr")
  ), sensor_peers)
  table <- do.call(rbind, lapply(data, run_sensor, methods))
  print(table, digits = 3, row.names = FALSE)
  keep_results(start, "kbr_hmm_sensor", list(table = table))
}

folder <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(),
  value = TRUE
)[1]))
for (part in c("options.R", "kbr_hmm-sensor-peers.R")) {
  source(file.path(folder, part))
}
if (sys.nframe() == 0) main()
