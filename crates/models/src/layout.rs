//! Validates the positions of tensors in a file: tensors must not overlap, and a truncated file is
//! distinguished from a wrong header.

use super::Tensor;
use super::error::{FormatError, format_count, quoted};

/// Summary of the positions of the tensors of one file.
#[derive(Debug)]
pub(super) struct Layout {
    /// End of the last tensor, as a byte offset.
    pub end: u64,
    /// Name of the first tensor that is preceded by unused bytes.
    pub gap: Option<String>,
    /// A truncated file yields a warning, since its headers are still usable.
    pub warnings: Vec<String>,
}

/// Checks the positions of the tensors of one file, whose data begins at `data_start` and is padded to
/// `alignment`.
pub(super) fn check(
    tensors: &[Tensor],
    data_start: u64,
    file_length: u64,
    alignment: u64,
) -> Result<Layout, FormatError> {
    let mut order: Vec<&Tensor> = tensors.iter().filter(|tensor| tensor.bytes != Some(0)).collect();
    order.sort_by_key(|tensor| tensor.offset);

    // Start of the next tensor in a file without gaps; `None` after a tensor of unknown size.
    let mut expected = Some(data_start);
    let mut end = data_start;
    let mut gap = None;
    for tensor in &order {
        let fault =
            |message: String| FormatError::file(format!("tensor {}: {message}", quoted(&tensor.name)));
        if tensor.offset < end {
            return Err(fault(format!("overlaps the preceding tensor at byte {}", tensor.offset)));
        }
        if expected.is_some_and(|expected| tensor.offset > expected) {
            if tensor.offset >= file_length {
                return Err(fault(format!(
                    "starts at byte {}, but the file ends at byte {file_length}",
                    tensor.offset
                )));
            }
            gap.get_or_insert_with(|| quoted(&tensor.name));
        }
        // A tensor of unknown size occupies at least one byte.
        end = tensor
            .offset
            .checked_add(tensor.bytes.unwrap_or(1))
            .ok_or_else(|| fault("end offset overflows".to_owned()))?;
        expected = tensor.bytes.and_then(|_| end.checked_next_multiple_of(alignment));
    }

    let mut warnings = Vec::new();
    if end > file_length {
        let truncated = order.iter().filter(|t| t.offset + t.bytes.unwrap_or(1) > file_length).count();
        warnings.push(format!(
            "truncated file: {} of {end} bytes are missing, including data of {truncated} of {}",
            end - file_length,
            format_count(tensors.len())
        ));
    }
    Ok(Layout { end, gap, warnings })
}
