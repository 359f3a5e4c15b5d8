//! Consumers that live outside the crates, and runs of the whole workspace; see `tests/`.
