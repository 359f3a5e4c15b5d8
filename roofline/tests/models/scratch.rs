//! Places for the files of a test.

use std::path::PathBuf;

/// An empty directory of this test's own.
pub fn directory(test: &str) -> PathBuf {
    let path = [env!("CARGO_TARGET_TMPDIR"), env!("CARGO_CRATE_NAME"), test].iter().collect::<PathBuf>();
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("an old test directory can be removed");
    }
    std::fs::create_dir_all(&path).expect("a test directory can be made");
    path
}

/// Writes files into a directory of this test's own and answers with it.
pub fn files(test: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let directory = directory(test);
    for (name, bytes) in files {
        std::fs::write(directory.join(name), bytes).expect("a test file can be written");
    }
    directory
}
