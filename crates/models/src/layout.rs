//! Where tensors lie in a file: no two share bytes, none points nowhere, and a file that ends too
//! early is told apart from one whose header is wrong.

use super::Tensor;
use super::fault::{Fault, quoted};

/// What the places of one file's tensors come to.
#[derive(Debug)]
pub(super) struct Layout {
    /// Where the last tensor ends.
    pub end: u64,
    /// The first tensor with bytes before it that are no tensor's.
    pub gap: Option<String>,
    /// A file cut short is still good for everything but its weights.
    pub warnings: Vec<String>,
}

/// Checks the places of one file's tensors. The data begins at `data_start`, tensors are padded to
/// `alignment`.
pub(super) fn check(
    tensors: &[Tensor],
    data_start: u64,
    file_length: u64,
    alignment: u64,
) -> Result<Layout, Fault> {
    let mut order: Vec<&Tensor> = tensors.iter().filter(|tensor| tensor.bytes != Some(0)).collect();
    order.sort_by_key(|tensor| tensor.offset);

    // Where the next tensor begins in a file without gaps; none behind a tensor of unknown size.
    let mut expected = Some(data_start);
    let mut end = data_start;
    let mut gap = None;
    for tensor in &order {
        let fault = |what: String| Fault::file(format!("tensor {}: {what}", quoted(&tensor.name)));
        if tensor.offset < end {
            return Err(fault(format!("begins at byte {}, inside the tensor before it", tensor.offset)));
        }
        if expected.is_some_and(|expected| tensor.offset > expected) {
            if tensor.offset >= file_length {
                return Err(fault(format!(
                    "begins at byte {}, but the file ends at byte {file_length}",
                    tensor.offset
                )));
            }
            gap.get_or_insert_with(|| quoted(&tensor.name));
        }
        // Of a tensor of unknown size at least its first byte is its own.
        end = tensor
            .offset
            .checked_add(tensor.bytes.unwrap_or(1))
            .ok_or_else(|| fault("ends past the largest offset there is".to_owned()))?;
        expected = tensor.bytes.and_then(|_| end.checked_next_multiple_of(alignment));
    }

    let mut warnings = Vec::new();
    if end > file_length {
        let cut = order.iter().filter(|t| t.offset + t.bytes.unwrap_or(1) > file_length).count();
        warnings.push(format!(
            "the file is cut short: {} of {end} bytes are missing, and with them data of {cut} of {} tensors",
            end - file_length,
            tensors.len()
        ));
    }
    Ok(Layout { end, gap, warnings })
}
