//! Processors for which no vector kernels are written.

/// Nothing that a block format does by vectors.
pub trait Vector<X> {}

impl<T, X> Vector<X> for T {}
