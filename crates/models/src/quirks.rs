//! Properties of model families that no metadata key declares, such as the layers with a sliding window.
//! Families are named as in `general.architecture`; the rules follow llama.cpp.

/// Sliding-window pattern of a family that its files do not declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    /// The last of every `period` layers has full attention.
    FullLast { period: u64, size: Option<u64> },
    /// The first of every `period` layers has full attention.
    FullFirst { period: u64, size: Option<u64> },
    /// The files declare a window that llama.cpp does not use.
    Ignored,
}

use Windows::{FullFirst, FullLast, Ignored};

const WINDOWS: &[(&str, Windows)] = &[
    ("afmoe", FullLast { period: 4, size: None }),
    ("cohere2", FullLast { period: 4, size: None }),
    ("cohere2moe", FullFirst { period: 4, size: None }),
    ("exaone-moe", FullLast { period: 4, size: Some(128) }),
    ("gemma-embedding", FullLast { period: 6, size: None }),
    ("gemma2", FullLast { period: 2, size: Some(4096) }),
    ("gemma3", FullLast { period: 6, size: None }),
    ("gemma3n", FullLast { period: 5, size: None }),
    ("gpt-oss", FullLast { period: 2, size: None }),
    ("laguna", FullFirst { period: 4, size: None }),
    // Chunked attention, bounded by a window of the chunk size.
    ("llama4", FullLast { period: 4, size: Some(8192) }),
    ("mellum", FullLast { period: 4, size: None }),
    ("modern-bert", FullFirst { period: 3, size: None }),
    ("muse-glimmer", FullLast { period: 4, size: None }),
    ("olmo2", FullLast { period: 4, size: None }),
    ("phi3", Ignored),
    ("phimoe", Ignored),
    ("plamo3", FullLast { period: 8, size: None }),
    ("smallthinker", FullFirst { period: 4, size: None }),
];

/// Encoders and diffusion language models.
const NOT_AUTOREGRESSIVE: &[&str] = &[
    "bert",
    "clef",
    "dream",
    "eurobert",
    "gemma-embedding",
    "jina-bert-v2",
    "jina-bert-v3",
    "llada",
    "llada-moe",
    "llama-embed",
    "modern-bert",
    "neo-bert",
    "nomic-bert",
    "nomic-bert-moe",
    "rnd1",
    "t5encoder",
    "wavtokenizer-dec",
];

/// Diffusion language models, which have an output head.
const DIFFUSION: &[&str] = &["dream", "llada", "llada-moe", "rnd1"];

/// Hybrid families: period of layers with attention, at the end of each period; the others are recurrent.
const ATTENTION_PERIODS: &[(&str, u64)] =
    &[("minimax-01", 8), ("qwen35", 4), ("qwen35moe", 4), ("qwen3next", 4), ("qwen4exp", 4)];

/// Window sizes that override the declared ones.
const FIXED_WINDOWS: &[(&str, u64)] = &[("llama4", 8192), ("smallthinker", 4096)];

/// Number of leading layers with a KV cache of their own; later layers share it.
const LAYERS_WITH_KV: &[(&str, u64)] = &[("gemma3n", 20)];

/// Looks up the sliding-window pattern of a family.
pub(super) fn window_pattern(architecture: &str, blocks: u64) -> Option<Windows> {
    match (architecture, blocks) {
        // Only the large model has sliding windows.
        ("exaone4", 64) => Some(FullLast { period: 4, size: Some(4096) }),
        ("exaone4", _) => Some(Ignored),
        _ => WINDOWS.iter().find(|(name, _)| *name == architecture).map(|(_, windows)| *windows),
    }
}

/// Looks up the window size that overrides the declared one.
pub(super) fn fixed_window(architecture: &str) -> Option<u64> {
    FIXED_WINDOWS.iter().find(|(name, _)| *name == architecture).map(|(_, tokens)| *tokens)
}

/// Looks up the number of leading layers with a KV cache of their own, for families that share it across layers.
pub(super) fn layers_with_kv(architecture: &str) -> Option<u64> {
    LAYERS_WITH_KV.iter().find(|(name, _)| *name == architecture).map(|(_, layers)| *layers)
}

/// Looks up the period of attention layers in a hybrid family.
pub(super) fn attention_period(architecture: &str) -> Option<u64> {
    ATTENTION_PERIODS.iter().find(|(name, _)| *name == architecture).map(|(_, period)| *period)
}

pub(super) fn is_autoregressive(architecture: &str) -> bool {
    !NOT_AUTOREGRESSIVE.contains(&architecture)
}

pub(super) fn is_diffusion(architecture: &str) -> bool {
    DIFFUSION.contains(&architecture)
}

impl Windows {
    /// Returns the window size, if the files need not declare it.
    pub fn size(self) -> Option<u64> {
        match self {
            FullLast { size, .. } | FullFirst { size, .. } => size,
            Ignored => None,
        }
    }

    /// Returns the period of layers with full attention.
    pub fn period(self) -> Option<u64> {
        match self {
            FullLast { period, .. } | FullFirst { period, .. } => Some(period),
            Ignored => None,
        }
    }

    /// Returns true if the first layer of each period has full attention, rather than the last.
    pub fn full_first(self) -> bool {
        matches!(self, FullFirst { .. })
    }

    /// Describes the assumption that this pattern stands for.
    pub fn assumption(self) -> String {
        match self {
            FullLast { period, .. } => {
                format!("assuming sliding windows in all layers but the last of every {period}")
            }
            FullFirst { period, .. } => {
                format!("assuming sliding windows in all layers but the first of every {period}")
            }
            Ignored => "assuming no sliding windows".to_owned(),
        }
    }
}
