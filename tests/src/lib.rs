//! Tests with consumer crates outside of the workspace; see `tests/`.
