//! Element types of tensors: name, ggml type number, elements per block and bytes per block.

use std::fmt;

use roofline_formulas::quantization::formats::{self, Format};

macro_rules! dtypes {
    (
        ggml { $($variant:ident $name:literal $format:ident;)* }
        others { $($other:ident $other_name:literal $block:literal $bytes:literal;)* }
    ) => {
        /// Element type of a tensor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the variants are named after the formats")]
        pub enum Dtype {
            $($variant,)*
            $($other,)*
            /// Unknown type number; its size is unknown too.
            Unknown(u32),
        }

        const TABLE: &[Row] = &[
            $(Row::new(Dtype::$variant, $name, &formats::$format),)*
            $(Row { dtype: Dtype::$other, name: $other_name, ggml: None, block: $block, bytes: $bytes },)*
        ];
    };
}

struct Row {
    dtype: Dtype,
    name: &'static str,
    ggml: Option<u32>,
    block: u64,
    bytes: u64,
}

impl Row {
    const fn new(dtype: Dtype, name: &'static str, format: &Format) -> Row {
        Row {
            dtype,
            name,
            ggml: match format.ggml {
                Some(id) => Some(id as u32),
                None => None,
            },
            block: format.block_weights as u64,
            bytes: format.block_bytes as u64,
        }
    }
}

// The sizes of ggml types come from the contract quantization-v1. INT2 to FP4 are packed into words in SafeTensors files, with
// separate scales; NF4 and FP4 are the two codebooks of bitsandbytes.
dtypes! {
    ggml {
        F32 "F32" F32;
        F16 "F16" F16;
        Q4_0 "Q4_0" Q4_0;
        Q4_1 "Q4_1" Q4_1;
        Q5_0 "Q5_0" Q5_0;
        Q5_1 "Q5_1" Q5_1;
        Q8_0 "Q8_0" Q8_0;
        Q8_1 "Q8_1" Q8_1;
        Q2K "Q2_K" Q2_K;
        Q3K "Q3_K" Q3_K;
        Q4K "Q4_K" Q4_K;
        Q5K "Q5_K" Q5_K;
        Q6K "Q6_K" Q6_K;
        Q8K "Q8_K" Q8_K;
        Iq2Xxs "IQ2_XXS" IQ2_XXS;
        Iq2Xs "IQ2_XS" IQ2_XS;
        Iq3Xxs "IQ3_XXS" IQ3_XXS;
        Iq1S "IQ1_S" IQ1_S;
        Iq4Nl "IQ4_NL" IQ4_NL;
        Iq3S "IQ3_S" IQ3_S;
        Iq2S "IQ2_S" IQ2_S;
        Iq4Xs "IQ4_XS" IQ4_XS;
        I8 "I8" I8;
        I16 "I16" I16;
        I32 "I32" I32;
        I64 "I64" I64;
        F64 "F64" F64;
        Iq1M "IQ1_M" IQ1_M;
        Bf16 "BF16" BF16;
        Tq1_0 "TQ1_0" TQ1_0;
        Tq2_0 "TQ2_0" TQ2_0;
        Mxfp4 "MXFP4" MXFP4;
        Nvfp4 "NVFP4" NVFP4;
        Q1_0 "Q1_0" Q1_0;
        Q2_0 "Q2_0" Q2_0;
    }
    others {
        Bool "BOOL" 1 1;
        U8 "U8" 1 1;
        U16 "U16" 1 2;
        U32 "U32" 1 4;
        U64 "U64" 1 8;
        C64 "C64" 1 8;
        F8E5M2 "F8_E5M2" 1 1;
        F8E4M3 "F8_E4M3" 1 1;
        F8E8M0 "F8_E8M0" 1 1;
        F8E4M3Fnuz "F8_E4M3FNUZ" 1 1;
        F8E5M2Fnuz "F8_E5M2FNUZ" 1 1;
        F6E2M3 "F6_E2M3" 4 3;
        F6E3M2 "F6_E3M2" 4 3;
        F4 "F4" 2 1;
        Int2 "INT2" 4 1;
        Int3 "INT3" 8 3;
        Int4 "INT4" 2 1;
        Int5 "INT5" 8 5;
        Int6 "INT6" 4 3;
        Nf4 "NF4" 2 1;
        Fp4 "FP4" 2 1;
        AprQ4 "APR_Q4" 32 18;
        AprQ8 "APR_Q8" 1 1;
    }
}

/// Meaning of a ggml type number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GgmlType {
    /// Supported type.
    Known(Dtype),
    /// Type that was removed from ggml; files must not use it.
    Removed,
    /// Number that is not in the table, presumably newer.
    Unknown,
}

impl Dtype {
    /// Iterates over all known types.
    pub fn all() -> impl Iterator<Item = Dtype> {
        TABLE.iter().map(|row| row.dtype)
    }

    /// Looks up a ggml type number.
    pub fn from_ggml(id: u32) -> GgmlType {
        match (id, TABLE.iter().find(|row| row.ggml == Some(id))) {
            (_, Some(row)) => GgmlType::Known(row.dtype),
            (4 | 5 | 31..=33 | 36..=38, None) => GgmlType::Removed,
            (_, None) => GgmlType::Unknown,
        }
    }

    /// Looks up a type by name, ignoring case: `q4_k`, `BF16`.
    pub fn from_name(name: &str) -> Option<Dtype> {
        TABLE.iter().find(|row| row.name.eq_ignore_ascii_case(name)).map(|row| row.dtype)
    }

    /// Returns the ggml type number.
    pub fn ggml(self) -> Option<u32> {
        match self {
            Dtype::Unknown(id) => Some(id),
            _ => self.row().and_then(|row| row.ggml),
        }
    }

    /// Returns elements per block and bytes per block; `None` for [`Dtype::Unknown`].
    pub fn block(self) -> Option<(u64, u64)> {
        self.row().map(|row| (row.block, row.bytes))
    }

    /// Returns the size of `elements` elements in bytes; `None` if they do not fill whole blocks, the size of
    /// the type is unknown, or the result overflows.
    pub fn bytes(self, elements: u64) -> Option<u64> {
        in_blocks(elements, self.block()?)
    }

    fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.dtype == self)
    }
}

/// Returns the size in bytes of `elements` elements, given elements per block and bytes per block; `None` if they do not fill
/// whole blocks or the result overflows.
pub fn in_blocks(elements: u64, (block, bytes): (u64, u64)) -> Option<u64> {
    if elements.is_multiple_of(block) { (elements / block).checked_mul(bytes) } else { None }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.row()) {
            (Dtype::Unknown(id), _) => f.pad(&format!("type {id}")),
            (_, row) => f.pad(row.map_or("", |row| row.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ggml_numbers_are_known_or_removed_up_to_the_newest() {
        let removed = [4, 5, 31, 32, 33, 36, 37, 38];
        for id in 0..=42 {
            match Dtype::from_ggml(id) {
                GgmlType::Known(dtype) => assert_eq!(dtype.ggml(), Some(id)),
                GgmlType::Removed => assert!(removed.contains(&id), "{id}"),
                GgmlType::Unknown => panic!("{id} is unknown"),
            }
        }
        assert_eq!(Dtype::from_ggml(43), GgmlType::Unknown);
        assert_eq!(Dtype::from_ggml(u32::MAX), GgmlType::Unknown);
    }

    #[test]
    fn names_are_unique_and_read_back_in_any_case() {
        for dtype in Dtype::all() {
            assert_eq!(Dtype::from_name(&dtype.to_string().to_lowercase()), Some(dtype));
        }
        assert_eq!(Dtype::from_name("Q4_K_M"), None, "a quantization mix is not a type");
    }

    #[test]
    fn partial_blocks_have_no_size() {
        assert_eq!(Dtype::Q8_0.bytes(64), Some(68));
        assert_eq!(Dtype::Q8_0.bytes(33), None);
        assert_eq!(Dtype::Q4K.bytes(256), Some(144));
        assert_eq!(Dtype::F64.bytes(u64::MAX), None);
        assert_eq!(Dtype::Unknown(99).bytes(32), None);
    }
}
