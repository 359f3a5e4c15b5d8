//! Scratch directories of tests.

use std::path::PathBuf;

/// Creates an empty directory for a test, in `tmp` of the target directory below the name of the test binary.
pub fn directory(test: &str) -> PathBuf {
    let program = std::env::current_exe().expect("the path of the test binary");
    let name = program.file_stem().and_then(|name| name.to_str()).expect("the name of the test binary");
    let name = name.rsplit_once('-').map_or(name, |(name, _hash)| name);
    // The path is target/PROFILE/deps/NAME-HASH.
    let target = program.ancestors().nth(3).expect("the target directory");
    let path = target.join("tmp").join(name).join(test);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("an old test directory can be removed");
    }
    std::fs::create_dir_all(&path).expect("the test directory can be created");
    path
}

/// Creates a directory for a test with these files.
pub fn files(test: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let directory = directory(test);
    for (name, bytes) in files {
        std::fs::write(directory.join(name), bytes).expect("a test file can be written");
    }
    directory
}
