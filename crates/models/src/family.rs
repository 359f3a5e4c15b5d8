//! What no key of a file says of its family: which layers have a window, and who makes no tokens. Names are
//! those of `general.architecture`, the rules those of llama.cpp.

/// Windows that a family has beyond what its files state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    /// The last of so many layers sees the whole context.
    FullLast { period: u64, size: Option<u64> },
    /// The first of so many layers sees the whole context.
    FullFirst { period: u64, size: Option<u64> },
    /// The files state one that is not used.
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
    // Chunks rather than a window: a token sees at most this many.
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

/// Encoders, and models that fill in a whole text at once.
const MAKES_NO_TOKENS: &[&str] = &[
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

/// Those among them that fill in a text, with a head.
const FILLS_IN: &[&str] = &["dream", "llada", "llada-moe", "rnd1"];

/// The last of so many layers attends, the others keep a state.
const ATTENDS_LAST: &[(&str, u64)] =
    &[("minimax-01", 8), ("qwen35", 4), ("qwen35moe", 4), ("qwen3next", 4), ("qwen4exp", 4)];

/// Windows of one size, whatever other one the files state.
const ALWAYS_SEES: &[(&str, u64)] = &[("llama4", 8192), ("smallthinker", 4096)];

/// So many layers from the first one on have keys and values of their own, where no key says how many.
const KEEPS_FIRST: &[(&str, u64)] = &[("gemma3n", 20)];

/// The windows of a family whose files don't state them as they are.
pub(super) fn windows_of(architecture: &str, blocks: u64) -> Option<Windows> {
    match (architecture, blocks) {
        // Only the large model has windows.
        ("exaone4", 64) => Some(FullLast { period: 4, size: Some(4096) }),
        ("exaone4", _) => Some(Ignored),
        _ => WINDOWS.iter().find(|(name, _)| *name == architecture).map(|(_, windows)| *windows),
    }
}

/// The window of a family that has the same one whatever its files state.
pub(super) fn always_sees(architecture: &str) -> Option<u64> {
    ALWAYS_SEES.iter().find(|(name, _)| *name == architecture).map(|(_, tokens)| *tokens)
}

/// The layers that have keys and values of their own, in a family whose others use those again and whose files need not say so.
pub(super) fn keeps_first(architecture: &str) -> Option<u64> {
    KEEPS_FIRST.iter().find(|(name, _)| *name == architecture).map(|(_, layers)| *layers)
}

/// The last of how many layers attends, in a family whose other layers keep a state and whose files need not say so.
pub(super) fn attends_last(architecture: &str) -> Option<u64> {
    ATTENDS_LAST.iter().find(|(name, _)| *name == architecture).map(|(_, period)| *period)
}

/// Whether a family makes no tokens one after the other.
pub(super) fn makes_no_tokens(architecture: &str) -> bool {
    MAKES_NO_TOKENS.contains(&architecture)
}

/// Whether a family fills in a whole text at once.
pub(super) fn fills_in(architecture: &str) -> bool {
    FILLS_IN.contains(&architecture)
}

impl Windows {
    /// The window that the files don't state.
    pub fn size(self) -> Option<u64> {
        match self {
            FullLast { size, .. } | FullFirst { size, .. } => size,
            Ignored => None,
        }
    }

    /// One of so many layers sees the whole context.
    pub fn period(self) -> Option<u64> {
        match self {
            FullLast { period, .. } | FullFirst { period, .. } => Some(period),
            Ignored => None,
        }
    }

    /// Whether that is the first of them.
    pub fn full_first(self) -> bool {
        matches!(self, FullFirst { .. })
    }

    /// The rule in words.
    pub fn told(self) -> String {
        match self {
            FullLast { period, .. } => format!("the last of every {period} sees the whole context"),
            FullFirst { period, .. } => format!("the first of every {period} sees the whole context"),
            Ignored => "none has".to_owned(),
        }
    }
}
