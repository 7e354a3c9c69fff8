//! Reads a YAML or JSON document: its tree with locations, typed values from the tree, and every error with line and
//! fix.
//!
//! This module is independent of the domain. `scenario` and the products read their files through it.
//!
//! | file | subject |
//! |---|---|
//! | `context` | a document being checked: problems at its values, and the documents it names |
//! | `csv` | reads CSV, with the locations of errors, and finds unclosed quotes |
//! | `documents` | the documents of a YAML stream |
//! | `described` | types that the JSON Schema describes |
//! | `files` | the files of one experiment, each read once, with their hashes |
//! | `kept` | the part of a file that is copied |
//! | `named_file` | a file that an experiment names, and whether errors may quote it |
//! | `tree` | text as a tree of values, each with its location |
//! | `path` | the path of a value: `fleet[0].downlink` |
//! | `reader` | a tree as a typed value, with all errors |
//! | `read_error` | an error of the reader: its path, message and fix |
//! | `problem` | one error with its location and fix |
//! | `text_or` | fields that are a text or a map |
//! | `wording` | the message of an error, with and without content of a file |
//! | `words` | plain scalars as the products' readers interpret them |
//! | `yaml` | values as YAML text |
//! | `yaml_error` | errors of the YAML reader in our words |

pub mod context;
pub mod csv;
pub mod documents;
pub mod files;
pub mod kept;
mod named_file;
pub mod path;
pub mod problem;
mod read_error;
pub mod reader;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text_or;
pub mod tree;
pub mod wording;
mod words;
pub mod yaml;
mod yaml_error;

pub use files::InputFile;
pub use fleetsim_units::io::in_one_line;
pub use problem::{LoadError, Problem};
