//! The native extension: runs the program and captures its output, reads the figures of results, and evaluates contracts
//! over columns of numbers. `roofline/__init__.py` wraps it for Python.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    roofline,
    Error,
    PyValueError,
    "Invalid arguments or input; the message is that of the program."
);

/// The extension module.
#[pymodule]
mod _roofline {
    use std::ffi::OsString;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;
    use std::time::Duration;

    use pyo3::prelude::*;
    use pyo3::pybacked::PyBackedBytes;
    use pyo3::types::PyBytes;
    use roofline::chart::terminal::Canvas;
    use roofline::cli::{self, Called, Failure};
    use roofline::machine::Machine;
    use roofline::predict::Predicted;
    use roofline::profile::Profile;
    use roofline::report::{Report, Saved};
    use roofline_contracts::unit::Unit;
    use roofline_contracts::{contract, eval};

    #[pymodule_export]
    use super::Error;

    fn to_error(Failure(message): Failure) -> PyErr {
        Error::new_err(message)
    }

    /// Interval at which Ctrl-C is checked.
    const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
    /// Stack size of the worker, that of a main thread.
    const STACK_SIZE: usize = 8 << 20;

    /// Runs `work` on another thread without the GIL. Ctrl-C returns at once, and the work continues in the background.
    fn run_detached<T: Send + 'static>(
        py: Python<'_>,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let (working, mut ended) = channel::<()>();
        let worker = thread::Builder::new().stack_size(STACK_SIZE).spawn(move || {
            let _working = working;
            work()
        })?;
        loop {
            let ended = &mut ended;
            if py.detach(move || ended.recv_timeout(SIGNAL_INTERVAL)) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            py.check_signals()?;
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(to_error)
    }

    /// The version of the package.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Runs the program on the terminal and returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| cli::exit(args) as u8)
    }

    /// Runs a command and returns its exit code, its standard output and the lines of its messages.
    #[pyfunction]
    fn call(py: Python<'_>, args: Vec<OsString>) -> PyResult<(u8, String, Vec<String>)> {
        let Called { exit, printed, said } = run_detached(py, || cli::call(args))?;
        Ok((exit as u8, String::from_utf8_lossy(&printed).into_owned(), said))
    }

    /// A figure: name, subject, label, unit, value, noise.
    type Figure = (String, String, String, String, f64, Option<f64>);

    fn figures_from<T: Saved>(json: &str) -> PyResult<Vec<Figure>> {
        let report = T::from_json(json).map_err(Error::new_err)?;
        let figures = report.figures().into_iter();
        Ok(figures.map(|f| (f.name.into(), f.of, f.label, f.unit.into(), f.value, f.noise)).collect())
    }

    /// The figures of a result with their units; empty for other documents.
    #[pyfunction]
    fn figures(schema: &str, json: &str) -> PyResult<Vec<Figure>> {
        match schema {
            Predicted::SCHEMA => figures_from::<Predicted>(json),
            Profile::SCHEMA => figures_from::<Profile>(json),
            Machine::SCHEMA => figures_from::<Machine>(json),
            _ => Ok(Vec::new()),
        }
    }

    fn render<T: Saved>(json: &str) -> PyResult<String> {
        // A common terminal width, without colors.
        let canvas = Canvas { columns: 100, rows: 20, unicode: true, color: false, limit: None };
        Ok(T::from_json(json).map_err(Error::new_err)?.text(&canvas))
    }

    /// A result as text.
    #[pyfunction]
    fn text(schema: &str, json: &str) -> PyResult<String> {
        match schema {
            Predicted::SCHEMA => render::<Predicted>(json),
            Profile::SCHEMA => render::<Profile>(json),
            Machine::SCHEMA => render::<Machine>(json),
            _ => Ok(json.to_owned()),
        }
    }

    /// True if both texts denote the same unit.
    #[pyfunction]
    fn same_unit(a: &str, b: &str) -> bool {
        match (Unit::parse(a), Unit::parse(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => a == b,
        }
    }

    /// A contract and its warnings.
    #[pyclass(frozen, module = "roofline._roofline")]
    struct Contract(contract::Contract, Vec<String>);

    /// A quantity: name, unit, domain, documentation, default, cases.
    type Quantity = (String, String, String, String, Option<f64>, Vec<String>);

    #[pymethods]
    impl Contract {
        /// Opens a contract: a path, a built-in name, or a text of several lines.
        #[new]
        fn new(py: Python<'_>, path_or_text: String) -> PyResult<Contract> {
            let read = move || match path_or_text.contains('\n') {
                true => cli::parse_contract(&path_or_text).map(|contract| (contract, Vec::new())),
                false => cli::contract(&path_or_text),
            };
            run_detached(py, read).map(|(contract, warnings)| Contract(contract, warnings))
        }

        /// Warnings, such as claims that are neither proven nor refuted.
        #[getter]
        fn warnings(&self) -> Vec<String> {
            self.1.clone()
        }

        #[getter]
        fn id(&self) -> &str {
            &self.0.metadata.id
        }

        #[getter]
        fn version(&self) -> String {
            self.0.metadata.version.to_string()
        }

        #[getter]
        fn quantities(&self) -> Vec<Quantity> {
            let each = self.0.quantities.iter().cloned();
            each.map(|q| (q.name, q.unit_text, q.domain.to_string(), q.doc, q.default, q.cases)).collect()
        }

        /// Name, unit and documentation of each equation.
        #[getter]
        fn equations(&self) -> Vec<(String, String, String)> {
            self.0.equations.iter().cloned().map(|e| (e.name, e.unit_text, e.doc)).collect()
        }

        /// Name and variants of each classifier.
        #[getter]
        fn classifiers(&self) -> Vec<(String, Vec<String>)> {
            let each = self.0.classifiers.iter();
            let variants =
                |of: &contract::Classifier| of.cases.iter().map(|case| case.variant.clone()).collect();
            each.map(|classifier| (classifier.name.clone(), variants(classifier))).collect()
        }

        /// Evaluates `rows` points. Each quantity is a column of doubles, with one value per point or a single value for all.
        /// Returns the concatenated columns of the equations and then of the classifiers, in the order of the contract.
        fn evaluate<'py>(
            &self,
            py: Python<'py>,
            columns: Vec<PyBackedBytes>,
            rows: usize,
        ) -> PyResult<Bound<'py, PyBytes>> {
            let count = self.0.equations.len() + self.0.classifiers.len();
            PyBytes::new_with(py, 8 * rows * count, |all| {
                py.detach(|| compute(&self.0, &columns, rows, all)).map_err(Error::new_err)
            })
        }
    }

    /// Points per chunk, so that the columns stay in cache; allocating memory for all points costs more than computing them.
    const CHUNK: usize = 4096;

    fn compute(
        contract: &contract::Contract,
        columns: &[PyBackedBytes],
        rows: usize,
        all: &mut [u8],
    ) -> Result<(), String> {
        let words: Vec<&[[u8; 8]]> = columns.iter().map(|column| column.as_chunks::<8>().0).collect();
        if words.len() != contract.quantities.len() || words.iter().any(|all| ![1, rows].contains(&all.len()))
        {
            return Err(format!("invalid columns; expected 1 or {rows} doubles for each quantity"));
        }
        let (all, _) = all.as_chunks_mut::<8>();
        for first in (0..rows).step_by(CHUNK) {
            let count = CHUNK.min(rows - first);
            let part = |words: &&[[u8; 8]]| -> Vec<f64> {
                let words = if words.len() == 1 { words } else { &words[first..first + count] };
                words.iter().map(|word| f64::from_ne_bytes(*word)).collect()
            };
            let parts: Vec<Vec<f64>> = words.iter().map(part).collect();
            let parts: Vec<&[f64]> = parts.iter().map(Vec::as_slice).collect();
            let computed = eval::columns(contract, &parts, count).map_err(|(row, refused)| match rows {
                1 => refused.to_string(),
                _ => format!("row {}: {refused}", first + row),
            })?;
            for (column, values) in all.chunks_exact_mut(rows).zip(computed) {
                for (word, value) in column[first..].iter_mut().zip(values) {
                    *word = value.to_ne_bytes();
                }
            }
        }
        Ok(())
    }
}
