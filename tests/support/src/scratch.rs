//! Places for the files of a test.

use std::path::PathBuf;

/// An empty directory of this test's own, in `tmp` of the target directory and there below the name of the running program.
pub fn directory(test: &str) -> PathBuf {
    let program = std::env::current_exe().expect("a test knows its program");
    let name = program.file_stem().and_then(|name| name.to_str()).expect("a test's program has a name");
    let name = name.rsplit_once('-').map_or(name, |(name, _hash)| name);
    // The program is target/PROFILE/deps/NAME-HASH.
    let target = program.ancestors().nth(3).expect("a test's program is in the target directory");
    let path = target.join("tmp").join(name).join(test);
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
