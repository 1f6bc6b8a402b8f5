# Restores the state of R's generator after a test.
keep_random_state <- function(env = parent.frame()) {
  state <- random_state()
  withr::defer(restore_random_state(state), envir = env)
}
