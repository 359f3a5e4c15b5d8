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

    use pyo3::prelude::*;
    use pyo3::types::PyBytes;
    use roofline::peaks::Machine;
    use roofline::predict::Predicted;
    use roofline::profile::Profile;
    use roofline::program::{self, Failure};
    use roofline::report::{Report, Saved};
    use roofline_contracts::contract;
    use roofline_contracts::eval::Points;

    #[pymodule_export]
    use super::Error;

    fn raised(Failure(message): Failure) -> PyErr {
        Error::new_err(message)
    }

    /// Runs the program as a terminal would, and says how it exits.
    #[pyfunction]
    fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
        py.detach(|| program::exit(args) as u8)
    }

    /// Runs a command: its exit code, and what it prints.
    #[pyfunction]
    fn call(py: Python<'_>, args: Vec<OsString>) -> PyResult<(u8, String)> {
        let (exit, printed) = py.detach(|| program::call(args)).map_err(raised)?;
        Ok((exit as u8, String::from_utf8_lossy(&printed).into_owned()))
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

    /// A contract that computes.
    #[pyclass(frozen, module = "roofline._roofline")]
    struct Contract(contract::Contract);

    /// A quantity as Python gets it: name, unit, domain, documentation, default, cases.
    type Quantity = (String, String, String, String, Option<f64>, Vec<String>);

    #[pymethods]
    impl Contract {
        /// Opens the contract of a path or a built-in name, or that of a text of several lines.
        #[new]
        fn new(py: Python<'_>, path_or_text: &str) -> PyResult<Contract> {
            let read = || match path_or_text.contains('\n') {
                true => program::contract_of(path_or_text),
                false => program::contract(path_or_text),
            };
            py.detach(read).map(Contract).map_err(raised)
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
        /// The columns of the equations come back, then those of the classifiers, in the order of the contract.
        fn evaluate<'py>(
            &self,
            py: Python<'py>,
            columns: Vec<Vec<u8>>,
            rows: usize,
        ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
            let computed = py.detach(|| compute(&self.0, &columns, rows)).map_err(Error::new_err)?;
            Ok(computed.iter().map(|column| PyBytes::new(py, column)).collect())
        }
    }

    fn compute(
        contract: &contract::Contract,
        columns: &[Vec<u8>],
        rows: usize,
    ) -> Result<Vec<Vec<u8>>, String> {
        let (words, _): (Vec<_>, Vec<_>) = columns.iter().map(|column| column.as_chunks::<8>()).unzip();
        if words.len() != contract.quantities.len() || words.iter().any(|all| ![1, rows].contains(&all.len()))
        {
            return Err(format!("a column of one or {rows} doubles is needed for each quantity"));
        }
        let mut point = vec![0.0; words.len()];
        let count = contract.equations.len() + contract.classifiers.len();
        let mut computed = vec![Vec::with_capacity(8 * rows); count];
        let mut points = Points::of(contract);
        for row in 0..rows {
            for (value, column) in point.iter_mut().zip(&words) {
                *value = f64::from_ne_bytes(column[if column.len() == 1 { 0 } else { row }]);
            }
            let at = points.at(&point).map_err(|refused| {
                if rows == 1 { refused.to_string() } else { format!("row {row}: {refused}") }
            })?;
            let values = at.equations().chain(at.classes().map(|class| class as f64));
            for (column, value) in computed.iter_mut().zip(values) {
                column.extend(value.to_ne_bytes());
            }
        }
        Ok(computed)
    }
}
