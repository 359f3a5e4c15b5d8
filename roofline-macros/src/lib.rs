//! `roofline_contract!`: a thin shell around the contract compiler in [`roofline_contracts`].

use std::cell::RefCell;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use roofline_contracts::report::Severity;
use roofline_contracts::{Compiler, emit, library};
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Token};

/// Compiles a YAML contract into a module of const functions, profile constants and classifiers.
///
/// ```
/// # use roofline_macros::roofline_contract;
/// // A module named after the contract: `roofline_model_v1`.
/// roofline_contract!("roofline-model-v1.yaml");
/// // Another name and visibility.
/// roofline_contract!(pub mod ceilings = "roofline-model-v1.yaml");
///
/// let inputs = ceilings::Inputs::new(7e9, 4.0, 200.0, 5000.0);
/// let outputs = inputs.evaluate().unwrap();
/// assert_eq!(outputs.bottleneck, ceilings::Bottleneck::Bandwidth);
/// assert_eq!(roofline_model_v1::model_bytes(7e9, 4.0), 3.5e9);
/// ```
///
/// Modules of dependencies are generated inside the module, unless existing ones are given:
///
/// ```
/// # use roofline_macros::roofline_contract;
/// roofline_contract!(pub mod hardware_v1 = "hardware-v1.yaml");
/// roofline_contract!(pub mod roofline_model_v1 = "roofline-model-v1.yaml", hardware_v1 = self::hardware_v1);
///
/// fn main() {
///     let device: &hardware_v1::devices::Device = &roofline_model_v1::devices::H100_SXM;
///     assert_eq!(device.name, "h100_sxm");
/// }
/// ```
///
/// The types that describe contracts, quantities, obligations and recommendations are defined once per call. `types` takes
/// them from another module, so that one function can read several contracts:
///
/// ```
/// # use roofline_macros::roofline_contract;
/// roofline_contract!(pub mod hardware_v1 = "hardware-v1.yaml");
/// roofline_contract!(pub mod models_v1 = "models-v1.yaml", types = self::hardware_v1);
///
/// fn main() {
///     let contracts: [hardware_v1::Contract; 2] = [hardware_v1::CONTRACT, models_v1::CONTRACT];
///     assert_eq!(contracts.map(|contract| contract.id), ["hardware-v1", "models-v1"]);
/// }
/// ```
///
/// With `typed` every number has the type of its unit; a value in another unit or scale does not compile:
///
/// ```
/// # use roofline_macros::roofline_contract;
/// roofline_contract!(pub mod ceilings = "roofline-model-v1.yaml", typed);
/// use ceilings::units::{B, BitPerParam, Param};
///
/// let bytes: B = ceilings::model_bytes(Param(7e9), BitPerParam(4.0));
/// assert_eq!(bytes.to_string(), "3500000000 B");
/// ```
///
/// The macro searches for the file in the manifest directory of the crate, in its `contracts` directory, and among the
/// contracts that ship with `roofline-contracts`. An error in the contract is a compile error with file, line and
/// column. Changing the file rebuilds the crate. To also rebuild when a new file shadows an existing one, add a build
/// script that prints `cargo::rerun-if-changed=contracts`.
#[proc_macro]
pub fn roofline_contract(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let call = syn::parse_macro_input!(input as Call);
    expand(&call).into()
}

/// `"file.yaml"` or `pub mod name = "file.yaml"`, then `, dependency = path::of::its::module` for each existing module,
/// `, types = path::of::a::module` for the shared types, and `, typed` for a type per unit.
struct Call {
    module: Option<(TokenStream, Ident)>,
    file: LitStr,
    reused: Vec<emit::rust::Reused>,
    typed: bool,
}

impl Parse for Call {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut visibility = TokenStream::new();
        while !input.peek(LitStr) && !input.peek(Token![mod]) {
            let usage = "expected \"file.yaml\" or `pub mod name = \"file.yaml\"`";
            let token: TokenTree = input.parse().map_err(|_| input.error(usage))?;
            visibility.extend([token]);
        }
        let module = if input.peek(Token![mod]) {
            input.parse::<Token![mod]>()?;
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            Some((visibility, name))
        } else if visibility.is_empty() {
            None
        } else {
            return Err(input.error("expected `mod name =` before the file"));
        };
        let file = input.parse()?;
        let (mut reused, mut typed) = (Vec::new(), false);
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let name: Ident = input.parse()?;
            if name == "typed" && (input.is_empty() || input.peek(Token![,])) {
                typed = true;
                continue;
            }
            input.parse::<Token![=]>()?;
            reused.push((name, path(input)?));
        }
        let inner = reused.iter().find(|(name, _)| name != emit::types::KEY);
        if let (true, Some((name, _))) = (typed, inner) {
            let message = "a typed module generates its own dependencies; remove this argument";
            return Err(syn::Error::new(name.span(), message));
        }
        Ok(Call { module, file, reused, typed })
    }
}

/// Parses a path and rewrites it for the generated module, which is one level deeper than the caller.
fn path(input: ParseStream) -> syn::Result<TokenStream> {
    let absolute = input.peek(Token![::]) || input.peek(Token![crate]);
    let relative = input.peek(Token![self]);
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    Ok(match (absolute, relative) {
        (true, _) => tokens,
        (false, true) => {
            let rest = tokens.into_iter().skip(1);
            let rest: TokenStream = rest.collect();
            quote!(super #rest)
        }
        (false, false) => quote!(super::#tokens),
    })
}

thread_local! {
    /// Caches built-in dependencies across the invocations of one crate.
    static COMPILER: RefCell<Compiler> = RefCell::default();
}

fn expand(call: &Call) -> TokenStream {
    let span = call.file.span();
    let fail = |message: String| quote_spanned!(span=> ::core::compile_error!(#message););
    let name = call.file.value();
    let directory = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".into());
    let found = match library::find(&name, Some(directory.as_ref())) {
        Ok(found) => found,
        Err(error) => return fail(error.to_string()),
    };
    let compiled =
        COMPILER.with_borrow_mut(|compiler| compiler.compile_in(found.source, Some(directory.as_ref())));
    // Track every file, even if the contract has errors, so that a change rebuilds the crate.
    let track = found.path.iter().chain(&compiled.files).map(|path| {
        let relative = path.strip_prefix(&directory).map(|rest| format!("/{}", rest.display()));
        let bytes = match relative {
            Ok(rest) => {
                quote!(::core::include_bytes!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #rest)))
            }
            Err(_) => {
                let path = path.to_string_lossy().into_owned();
                quote!(::core::include_bytes!(#path))
            }
        };
        quote!(const _: &[u8] = #bytes;)
    });
    let track: TokenStream = track.collect();
    let id = compiled.contract.as_ref().map(|contract| contract.metadata.id.clone());
    let stem = || name.rsplit(['/', '\\']).next().unwrap_or_default().trim_end_matches(".yaml").to_owned();
    let (visibility, module) = match &call.module {
        Some((visibility, name)) => (visibility.clone(), name.clone()),
        None => match syn::parse_str::<Ident>(&emit::rust::module_name(&id.unwrap_or_else(stem))) {
            Ok(mut module) => {
                module.set_span(span);
                (TokenStream::new(), module)
            }
            Err(_) => {
                return fail(format!("{name}: cannot derive a module name; write `mod name = \"{name}\"`"));
            }
        },
    };
    match &compiled.contract {
        Some(contract) => {
            let closure = contract.closure();
            let known = |name: &Ident| {
                name == emit::types::KEY
                    || closure.iter().any(|c| *name == emit::rust::module_name(&c.metadata.id))
            };
            if let Some((unknown, _)) = call.reused.iter().find(|(name, _)| !known(name)) {
                return fail(format!(
                    "unknown dependency `{unknown}`; {name} does not depend on a contract with this module name"
                ));
            }
            let module = match call.typed {
                true => emit::rust::typed_module(contract, &visibility, &module, &call.reused),
                false => emit::rust::module(contract, &visibility, &module, &call.reused),
            };
            quote!(#track #module)
        }
        None => {
            let errors = compiled.rendered(Severity::Error).map(fail);
            // Define the module anyway to avoid errors about a missing module.
            quote!(#track #(#errors)* #visibility mod #module {})
        }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
