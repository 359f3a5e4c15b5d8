//! The contracts this library calculates with, as the macro compiles them. No other formula is used.

use roofline_macros::roofline_contract;

roofline_contract!(pub mod layer_roofline = "layer-roofline-v1.yaml");
