//! A table of a results folder as columns of Arrow, which other libraries take over without copying: pandas, Polars,
//! pyarrow and DuckDB read the Arrow PyCapsule interface.
//!
//! CSV has no types, so a column's type follows from its cells: booleans, integers, numbers or text. The program writes
//! numbers with a point and counts without one, so no guess is needed. A column without any value is a column of
//! numbers if its name ends in a unit or is a measure, and text otherwise.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use fleetsim::results::Measure;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::run::in_thread;

/// Endings of the names of columns with numbers.
const UNITS: [&str; 9] = [
    "_s", "_share", "_bytes", "_per_s", "_hours", "_low", "_high", "_mean", "_ratio",
];

/// A table as columns of Arrow.
#[pyclass(frozen, module = "fleetsim._fleetsim")]
pub(crate) struct ArrowTable {
    batch: RecordBatch,
}

/// The cells of one column.
struct Column {
    name: String,
    /// `None`: the cell is empty.
    cells: Vec<Option<String>>,
}

impl Column {
    /// Returns the column with a value of another type in each cell. `None`: a cell has no such value, or all are
    /// empty.
    fn values<T>(&self, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<Option<T>>> {
        let mut values = Vec::with_capacity(self.cells.len());
        let mut has_value = false;
        for cell in &self.cells {
            match cell {
                None => values.push(None),
                Some(text) => {
                    values.push(Some(parse(text)?));
                    has_value = true;
                }
            }
        }
        has_value.then_some(values)
    }

    fn is_of_numbers(&self) -> bool {
        let is_measure = Measure::ALL
            .iter()
            .any(|measure| measure.column() == self.name);
        is_measure || UNITS.iter().any(|unit| self.name.ends_with(unit))
    }

    fn array(&self) -> ArrayRef {
        if let Some(values) = self.values(boolean) {
            return Arc::new(BooleanArray::from(values));
        }
        if let Some(values) = self.values(|text| text.parse::<i64>().ok()) {
            return Arc::new(Int64Array::from(values));
        }
        if let Some(values) = self.values(|text| text.parse::<f64>().ok()) {
            return Arc::new(Float64Array::from(values));
        }
        let is_empty = self.cells.iter().all(Option::is_none);
        if is_empty && self.is_of_numbers() {
            return Arc::new(Float64Array::from(vec![None; self.cells.len()]));
        }
        Arc::new(StringArray::from(self.cells.clone()))
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Reads the columns of a file.
fn columns(file: &std::path::Path) -> Result<Vec<Column>, String> {
    let wrong = |error: csv::Error| format!("cannot read {}: {error}", file.display());
    let mut reader = csv::Reader::from_path(file).map_err(wrong)?;
    let mut columns = Vec::new();
    for name in reader.headers().map_err(wrong)? {
        columns.push(Column {
            name: name.to_owned(),
            cells: Vec::new(),
        });
    }
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        for (column, cell) in columns.iter_mut().zip(&record) {
            column
                .cells
                .push((!cell.is_empty()).then(|| cell.to_owned()));
        }
    }
    Ok(columns)
}

/// Returns the table in a file.
fn batch(file: &std::path::Path) -> Result<RecordBatch, String> {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for column in columns(file)? {
        let array = column.array();
        fields.push(Field::new(&column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| error.to_string())
}

#[pymethods]
impl ArrowTable {
    /// Reads the table in a CSV file.
    #[new]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let read = in_thread(py, move || batch(&file))?;
        let batch = read.map_err(PyValueError::new_err)?;
        Ok(Self { batch })
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The types of the columns, in the words of Arrow.
    #[getter]
    fn column_types(&self) -> Vec<String> {
        let schema = self.batch.schema();
        let fields = schema.fields().iter();
        fields
            .map(|field| type_name(field.data_type()).to_owned())
            .collect()
    }

    /// The schema as a capsule of the Arrow C interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.batch.schema())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table as a capsule of the Arrow C interface. The columns are not copied.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A requested schema is a wish; the interface permits ignoring it.
        drop(requested_schema);
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Boolean => "bool",
        DataType::Int64 => "int64",
        DataType::Float64 => "double",
        _ => "string",
    }
}
