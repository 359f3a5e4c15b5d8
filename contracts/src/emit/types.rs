//! The types that all generated modules share: what a contract, a quantity, an obligation and a recommendation are. They are
//! defined once, in the outermost module of a call of the macro, and taken from there by all others.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::rust::ident;

/// The name under which the macro is told where they are.
pub const KEY: &str = "types";

/// Their names.
pub const NAMES: [&str; 8] =
    ["Contract", "Domain", "Obligation", "Priority", "Quantity", "Recommendation", "UnknownName", "Verdict"];

/// The types of the module with this path.
pub(super) fn taken(path: &TokenStream) -> TokenStream {
    let names: Vec<Ident> = NAMES.iter().map(|name| ident(name)).collect();
    quote!(#[doc(inline)] pub use #path::{#(#names),*};)
}

/// The types themselves.
pub(super) fn defined() -> TokenStream {
    quote! {
        #[cfg(any(all(target_arch = "x86", not(target_feature = "sse2")), target_arch = "m68k"))]
        ::core::compile_error!("f64 is not IEEE-754 double precision on this target, and nothing proven of the contract holds: build for one with SSE2");
        /// What a contract says of itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Contract {
            /// The name.
            pub id: &'static str,
            /// The semantic version.
            pub version: &'static str,
            /// What it models.
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
            /// The values it may take.
            pub domain: Domain,
            /// The value when none is given.
            pub default: ::core::option::Option<f64>,
            /// What it is.
            pub doc: &'static str,
        }
        /// The values that a quantity may take.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Domain {
            /// As the contract writes it.
            pub text: &'static str,
            /// The smallest value.
            pub low: f64,
            /// The largest value.
            pub high: f64,
            /// Whole numbers only.
            pub integer: bool,
            /// The only values, in ascending order; empty for an interval.
            pub members: &'static [f64],
        }
        impl Domain {
            /// Whether the value is allowed; NaN and infinities never are.
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
        /// A text that names no case.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct UnknownName {
            /// The names that there are.
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
        /// How urgent a recommendation is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Priority {
            /// Do it first.
            High,
            /// Do it next.
            Medium,
            /// Do it when there is time.
            Low,
        }
        /// An advice.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Recommendation {
            /// The name in the contract.
            pub name: &'static str,
            /// How urgent it is.
            pub priority: Priority,
            /// What to do.
            pub text: &'static str,
        }
        /// What is known of an obligation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Verdict {
            /// True for all values of the domains: an independent checker accepted the proof.
            Proven,
            /// No counterexample among the points tried; the contract asks for no more.
            Tested,
            /// Nothing has tried to decide it.
            NotRun,
        }
        /// Something that must hold over all values of the domains.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Obligation {
            /// The name in the contract.
            pub id: &'static str,
            /// The kind of claim.
            pub kind: &'static str,
            /// The claim.
            pub formal: &'static str,
            /// What it means.
            pub doc: &'static str,
            /// What is known of it.
            pub verdict: Verdict,
        }
    }
}
