//! The types that all generated modules share. They are defined once, in the outermost module of a macro call, and
//! re-exported by all others.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::rust::ident;

/// The name of the macro argument with their path.
pub const KEY: &str = "types";

/// The names of the types.
pub const NAMES: [&str; 8] =
    ["Contract", "Domain", "Obligation", "Priority", "Quantity", "Recommendation", "UnknownName", "Verdict"];

/// Re-exports of the types in the module with this path.
pub(super) fn taken(path: &TokenStream) -> TokenStream {
    let names: Vec<Ident> = NAMES.iter().map(|name| ident(name)).collect();
    quote!(#[doc(inline)] pub use #path::{#(#names),*};)
}

/// The definitions of the types.
pub(super) fn defined() -> TokenStream {
    quote! {
        #[cfg(any(all(target_arch = "x86", not(target_feature = "sse2")), target_arch = "m68k"))]
        ::core::compile_error!("f64 is not IEEE 754 double precision on this target, so the proofs of the contract do not hold; build for a target with SSE2");
        /// The metadata of a contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Contract {
            /// The name.
            pub id: &'static str,
            /// The semantic version.
            pub version: &'static str,
            /// A description of the model.
            pub description: &'static str,
            /// SHA-256 of the file.
            pub sha256: &'static str,
        }
        /// An input of a contract.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Quantity {
            /// The name.
            pub name: &'static str,
            /// The unit as the contract writes it.
            pub unit: &'static str,
            /// The allowed values.
            pub domain: Domain,
            /// The default value.
            pub default: ::core::option::Option<f64>,
            /// The documentation; empty for none.
            pub doc: &'static str,
        }
        /// The allowed values of a quantity.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Domain {
            /// As the contract writes it.
            pub text: &'static str,
            /// The smallest value.
            pub low: f64,
            /// The largest value.
            pub high: f64,
            /// True if only integers are allowed.
            pub integer: bool,
            /// The only values, in ascending order; empty for an interval.
            pub members: &'static [f64],
        }
        impl Domain {
            /// True if the value is allowed; false for NaN and infinities.
            pub const fn contains(&self, value: f64) -> bool {
                let mut member = self.members.is_empty();
                let mut i = 0;
                while i < self.members.len() {
                    member |= self.members[i] == value;
                    i += 1;
                }
                member && self.low <= value && value <= self.high && (!self.integer || value % 1.0 == 0.0)
            }
        }
        /// The error for a text that is not the name of a case.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct UnknownName {
            /// The valid names.
            pub allowed: &'static [&'static str],
        }
        impl ::core::fmt::Display for UnknownName {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str("expected one of")?;
                let mut between = " ";
                for name in self.allowed {
                    ::core::write!(f, "{between}`{name}`")?;
                    between = ", ";
                }
                ::core::result::Result::Ok(())
            }
        }
        impl ::core::error::Error for UnknownName {}
        /// Urgency of a recommendation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Priority {
            /// High urgency.
            High,
            /// Medium urgency.
            Medium,
            /// Low urgency.
            Low,
        }
        /// Advice for the inputs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Recommendation {
            /// The name in the contract.
            pub name: &'static str,
            /// Its urgency.
            pub priority: Priority,
            /// The advice.
            pub text: &'static str,
        }
        /// Verdict of an obligation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Verdict {
            /// True at every point of the domains: an independent checker accepted the proof.
            Proven,
            /// No counterexample among the points tried; the contract accepts tests.
            Tested,
            /// Not decided.
            NotRun,
        }
        /// A claim about all values of the domains.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Obligation {
            /// The name in the contract.
            pub id: &'static str,
            /// The kind of claim.
            pub kind: &'static str,
            /// The claim.
            pub formal: &'static str,
            /// The documentation; empty for none.
            pub doc: &'static str,
            /// The verdict.
            pub verdict: Verdict,
        }
    }
}
