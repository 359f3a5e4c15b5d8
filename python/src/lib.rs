//! What Python calls: the program with its output collected, the figures of saved results, and contracts over whole
//! columns of numbers. `roofline/__init__.py` gives them their Python shape.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(roofline, Error, PyValueError, "Wrong use or bad input; the message is the program's.");

/// The module.
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
    use roofline::peaks::Machine;
    use roofline::predict::Predicted;
    use roofline::profile::Profile;
    use roofline::program::{self, Called, Failure};
    use roofline::report::{Report, Saved};
    use roofline_contracts::unit::Unit;
    use roofline_contracts::{contract, eval};

    #[pymodule_export]
    use super::Error;

    fn raised(Failure(message): Failure) -> PyErr {
        Error::new_err(message)
    }

    /// How often somebody who waits may press Ctrl-C, and the stack of the thread that works meanwhile, that of a program.
    const ASKED: Duration = Duration::from_millis(50);
    const STACK: usize = 8 << 20;

    /// Does something while other threads of Python run. Ctrl-C ends the waiting at once; the work comes to its own end.
    fn awaited<T: Send + 'static>(
        py: Python<'_>,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> PyResult<T> {
        let (working, mut ended) = channel::<()>();
        let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
            let _working = working;
            work()
        })?;
        loop {
            let ended = &mut ended;
            if py.detach(move || ended.recv_timeout(ASKED)) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
            py.check_signals()?;
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(raised)
    }

    /// The version of all of it.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Runs the program as a terminal would, and says how it exits.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| program::exit(args) as u8)
    }

    /// Runs a command: its exit code, what it prints, and the lines that it says besides.
    #[pyfunction]
    fn call(py: Python<'_>, args: Vec<OsString>) -> PyResult<(u8, String, Vec<String>)> {
        let Called { exit, printed, said } = awaited(py, || program::call(args))?;
        Ok((exit as u8, String::from_utf8_lossy(&printed).into_owned(), said))
    }

    /// A figure as Python gets it: name, what it is of, label, unit, value, noise.
    type Figure = (String, String, String, String, f64, Option<f64>);

    fn of<T: Saved>(json: &str) -> PyResult<Vec<Figure>> {
        let report = T::from_json(json).map_err(Error::new_err)?;
        let figures = report.figures().into_iter();
        Ok(figures.map(|f| (f.name.into(), f.of, f.label, f.unit.into(), f.value, f.noise)).collect())
    }

    /// The figures of a result, each with its unit; none where it has none.
    #[pyfunction]
    fn figures(schema: &str, json: &str) -> PyResult<Vec<Figure>> {
        match schema {
            Predicted::SCHEMA => of::<Predicted>(json),
            Profile::SCHEMA => of::<Profile>(json),
            Machine::SCHEMA => of::<Machine>(json),
            _ => Ok(Vec::new()),
        }
    }

    fn shown<T: Saved>(json: &str) -> PyResult<String> {
        // As wide as people are used to; colours are for terminals.
        let canvas = Canvas { columns: 100, rows: 20, unicode: true, colour: false, limit: None };
        Ok(T::from_json(json).map_err(Error::new_err)?.text(&canvas))
    }

    /// A result as text for people.
    #[pyfunction]
    fn text(schema: &str, json: &str) -> PyResult<String> {
        match schema {
            Predicted::SCHEMA => shown::<Predicted>(json),
            Profile::SCHEMA => shown::<Profile>(json),
            Machine::SCHEMA => shown::<Machine>(json),
            _ => Ok(json.to_owned()),
        }
    }

    /// Whether these are the same unit, however they are written.
    #[pyfunction]
    fn same_unit(one: &str, other: &str) -> bool {
        match (Unit::parse(one), Unit::parse(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => one == other,
        }
    }

    /// A contract that computes, and what the program says about it.
    #[pyclass(frozen, module = "roofline._roofline")]
    struct Contract(contract::Contract, Vec<String>);

    /// A quantity as Python gets it: name, unit, domain, documentation, default, cases.
    type Quantity = (String, String, String, String, Option<f64>, Vec<String>);

    #[pymethods]
    impl Contract {
        /// Opens the contract of a path or a built-in name, or that of a text of several lines.
        #[new]
        fn new(py: Python<'_>, path_or_text: String) -> PyResult<Contract> {
            let read = move || match path_or_text.contains('\n') {
                true => program::contract_of(&path_or_text).map(|contract| (contract, Vec::new())),
                false => program::contract(&path_or_text),
            };
            awaited(py, read).map(|(contract, said)| Contract(contract, said))
        }

        /// Lines such as the claims that are neither proven nor refuted.
        #[getter]
        fn said(&self) -> Vec<String> {
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

        /// Evaluates `rows` points. Each quantity is a column of doubles, of one value for all points or one for each.
        /// The columns of the equations come back, then those of the classifiers, in the order of the contract, one
        /// after the other.
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

    /// Points whose columns stay in the caches; new memory for all of them costs more than computing them.
    const PART: usize = 4096;

    fn compute(
        contract: &contract::Contract,
        columns: &[PyBackedBytes],
        rows: usize,
        all: &mut [u8],
    ) -> Result<(), String> {
        let words: Vec<&[[u8; 8]]> = columns.iter().map(|column| column.as_chunks::<8>().0).collect();
        if words.len() != contract.quantities.len() || words.iter().any(|all| ![1, rows].contains(&all.len()))
        {
            return Err(format!("a column of one or {rows} doubles is needed for each quantity"));
        }
        let (all, _) = all.as_chunks_mut::<8>();
        for first in (0..rows).step_by(PART) {
            let count = PART.min(rows - first);
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
