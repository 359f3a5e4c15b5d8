//! Lists the contents of a model file: its size, and the bytes of each operation's weights. Reads only the header.

use std::error::Error;

use roofline::model::Model;

fn main() -> Result<(), Box<dyn Error>> {
    let path =
        std::env::args_os().nth(1).ok_or("missing argument; expected a GGUF, SafeTensors or APR file")?;
    let model = Model::open_headers(path)?;
    println!("{} tensors, {} parameters", model.tensors.len(), model.parameters());
    for operation in &model.architecture.operations {
        let layer = operation.layer.map_or("-".to_owned(), |layer| layer.to_string());
        let bytes: u64 = operation.tensors.iter().filter_map(|index| model.tensors[*index].bytes).sum();
        println!("{layer:>3} {:<12} {bytes:>8} bytes", operation.role.name());
    }
    Ok(())
}
