//! What is proven about roofline beyond the contracts' own obligations.
