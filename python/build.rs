//! macOS links an extension module only if it is told that Python brings the rest.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
