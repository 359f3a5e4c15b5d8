//! Stand-in for the vector modules on architectures without vector kernels.

/// Vector kernels of a block format: none on this architecture.
pub trait BlockKernel<X> {}

impl<T, X> BlockKernel<X> for T {}
