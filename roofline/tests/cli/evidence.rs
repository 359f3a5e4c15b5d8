//! The page of the record of published speeds.

use std::fs;
use std::path::Path;

#[test]
fn the_page_of_the_record_is_current() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for (name, made) in
        [("EVIDENCE.md", roofline::record::page()), ("EVIDENCE.svg", roofline::record::picture())]
    {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(docs.join(name), &made).expect("the page can be written");
        }
        let kept = fs::read_to_string(docs.join(name)).expect("the page is there");
        assert!(kept == made, "docs/{name} is not current; `cargo xtask evidence` rewrites it");
    }
}
