//! Tables, units, terminal charts, SVG and HTML for roofline results.

pub mod chart;
pub mod number;
pub mod paired;
pub mod report;
pub mod text;
pub mod word;
pub mod written;
