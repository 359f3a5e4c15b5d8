//! Properties that hold for any input: the readers return, accepted content is consistent and not larger
//! than the input, and an architecture can be derived from it. Shared by the fuzz targets and the replay of
//! their corpus.

#![allow(dead_code, reason = "each fuzz target uses one of these")]

use roofline::model::{Architecture, Operation, Tensor, onnx, readers};

/// Checks a GGUF file.
pub fn gguf(data: &[u8]) {
    let Ok(header) = readers::gguf(data) else { return };
    tensors(&header.tensors, data, 24);
    assert!(header.metadata.iter().count() * 13 <= data.len());
    if let Ok(architecture) = readers::gguf_architecture(&header.metadata, &header.tensors) {
        operations(&architecture, &header.tensors);
    }
}

/// Checks a SafeTensors file.
pub fn safetensors(data: &[u8]) {
    let Ok(mut header) = readers::safetensors(data) else { return };
    tensors(&header.tensors, data, 40);
    let stored = |tensor: &Tensor| {
        let start = usize::try_from(tensor.offset).ok()?;
        data.get(start..start.checked_add(usize::try_from(tensor.bytes?).ok()?)?)
    };
    readers::unpack(&mut header.tensors, stored, None);
    operations(&Architecture::from_tensors(None, &header.tensors, None), &header.tensors);
}

/// Checks an APR file after fixing its checksum, since the rest would not be tested otherwise.
pub fn apr(data: &[u8]) {
    let mut data = data.to_vec();
    if let Some((before, after)) = data.get(..40).zip(data.get(44..64)) {
        let checksum = crc32(before.iter().chain(after));
        data[40..44].copy_from_slice(&checksum.to_le_bytes());
    }
    let Ok(header) = readers::apr(&data) else { return };
    tensors(&header.tensors, &data, 20);
    if let Ok(architecture) = readers::apr_architecture(&header) {
        operations(&architecture, &header.tensors);
    }
}

/// Checks an ONNX file with given input shapes.
pub fn onnx(data: &[u8]) {
    let Ok(read) = readers::onnx(data) else { return };
    assert!(read.tensors.len() * 2 <= data.len(), "more tensors than the input has room for");
    for given in [Vec::new(), vec![onnx::InputShape { name: None, dims: vec![1, 3, 224, 224] }]] {
        let Ok(inferred) = read.graph.infer(&given, 1) else { continue };
        assert!(inferred.steps.len() * 2 <= data.len(), "more nodes than the input has room for");
        for step in &inferred.steps {
            step.weights.iter().for_each(|index| assert!(*index < read.tensors.len()));
        }
    }
}

/// Checks a `config.json` or the index of SafeTensors shards.
pub fn config(data: &[u8]) {
    if let Ok(Some(model_dims)) = readers::config(data) {
        let parameters = model_dims.parameters();
        assert!(parameters <= 1 << 53);
        operations(&Architecture::for_family(model_dims, &[]), &[]);
    }
    if let Ok(shards) = readers::read_index(data) {
        assert!(shards.len() <= data.len());
    }
}

fn tensors(tensors: &[Tensor], data: &[u8], smallest_entry: usize) {
    assert!(tensors.len() * smallest_entry <= data.len(), "more tensors than the input has room for");
    for tensor in tensors {
        assert!(tensor.offset.checked_add(tensor.bytes.unwrap_or(0)).is_some());
    }
}

fn operations(architecture: &Architecture, tensors: &[Tensor]) {
    let mut seen = vec![false; tensors.len()];
    for Operation { tensors, .. } in &architecture.operations {
        tensors.iter().for_each(|index| seen[*index] = true);
    }
    assert!(seen.into_iter().all(|seen| seen), "a tensor without an operation");
}

/// CRC-32 as in IEEE 802.3.
pub fn crc32<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}
