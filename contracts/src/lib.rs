//! Performance models written once, as YAML contracts, and the compiler that reads them.
