//! Tables, units, terminal charts, SVG and HTML for roofline results.

pub mod chart;
pub mod display_width;
pub mod format;
pub mod parse;
pub mod reference;
pub mod report;
pub mod vocabulary;
