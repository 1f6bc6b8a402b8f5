# The stream of random numbers behind constants of two tasks in simulate-sbi.R:
# numpy's RandomState(42). Computing them again is shorter than storing them:
# the noise of sim_slcp_distractors() has 172960 of them.

#' Words of 32 bits of the Mersenne Twister, seeded as numpy does
#'
#' R has the same generator, but seeds it in another way: the state is computed
#' here and given to R.
#' @return n whole numbers from 0 to 2^32 - 1, as doubles.
#' @noRd
numpy_words <- function(seed, n) {
  word <- seed
  for (i in seq_len(623)) {
    last <- word[[i]]
    # Knuth's recursion: 1812433253 times last xor (last >> 30), plus i. Halves
    # of 16 bits keep the product exact in a double.
    mixed <- last - last %% 4 + bitwXor(last %% 4, last %/% 2^30)
    high <- (1812433253 * (mixed %/% 2^16)) %% 2^16
    word[[i + 1]] <- (high * 2^16 + 1812433253 * (mixed %% 2^16) + i) %% 2^32
  }
  state <- as.integer(word - 2^32 * (word >= 2^31))
  with_local_seed(0, {
    kind <- RNGkind()
    restore_random_state(list(kind = kind, seed = c(
      get(".Random.seed", globalenv())[[1]], 624L, state
    )))
    floor(stats::runif(n) * 2^32)
  })
}

#' Standard normal numbers from such words: Marsaglia's polar method
#'
#' A uniform number takes 53 bits from two words; a pair of them inside of the
#' unit circle gives two normal numbers, the second coordinate first.
#' @return A list: `value`, n of them, n even, and `used`, how many words they
#'   took.
#' @noRd
numpy_normals <- function(words, n) {
  words <- matrix(words[seq_len(length(words) %/% 4 * 4)], 2)
  uniform <- (words[1, ] %/% 2^5 * 2^26 + words[2, ] %/% 2^6) / 2^53
  pair <- matrix(2 * uniform - 1, 2)
  square <- colSums(pair^2)
  inside <- which(square < 1 & square > 0)[seq_len(n / 2)]
  square <- square[inside]
  factor <- sqrt(-2 * log(square) / square)
  list(
    value = as.vector(pair[2:1, inside] * rep(factor, each = 2)),
    used = 4 * inside[[n / 2]]
  )
}

#' A permutation of 1 to n from such words
#'
#' Exchanges backwards; each place is drawn by rejection from the lowest bits of
#' a word, as many as the largest place has.
#' @noRd
numpy_permutation <- function(words, n) {
  out <- seq_len(n)
  at <- 0
  for (last in (n - 1):1) {
    bits <- 2^floor(log2(last) + 1)
    repeat {
      at <- at + 1
      place <- words[[at]] %% bits
      if (place <= last) break
    }
    out[c(last, place) + 1] <- out[c(place, last) + 1]
  }
  out
}
