//! A document that is read whole before anything is known of it: results that this program or another one saved.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// No result of this program is this long, in MiB.
const LONGEST: u64 = 64;

/// The text of a file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    read_up_to(LONGEST, path)
}

/// The text of a file of at most so many MiB: neither a wrong file nor a device that never ends fills the memory.
pub(crate) fn read_up_to(mib: u64, path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take((mib << 20) + 1).read_to_string(&mut text)?;
    if text.len() as u64 > mib << 20 {
        let message = format!("longer than {mib} MiB, so it is no saved result");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}
