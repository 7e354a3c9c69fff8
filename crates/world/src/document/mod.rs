//! Reading a YAML or JSON document: its tree with places, typed values from it, and every error with line and fix.
//!
//! Knows no domain word. `scenario` and the products read their files through it.
//!
//! | file | subject |
//! |---|---|
//! | `context` | a document while it is checked: problems at its values, and the documents it names |
//! | `csv` | reads CSV, with the places of errors, and quotes that nothing closes |
//! | `documents` | the documents of a YAML stream |
//! | `described` | types that the JSON Schema describes |
//! | `files` | the files of one experiment, each read once, with their hashes |
//! | `kept` | the part of a file that is copied |
//! | `named_file` | a file that an experiment names, and whether errors may quote it |
//! | `tree` | text as a tree of values, each with its place |
//! | `path` | a place in the structure: `fleet[0].downlink` |
//! | `reader` | a tree as a typed value, with every error at once |
//! | `read_error` | an error of the reader: its path, message and fix |
//! | `problem` | one error with its place and fix |
//! | `text_or` | fields that are a text or a map |
//! | `wording` | the words of an error, with and without a part of a file |
//! | `words` | plain scalars as the readers of the products take them |
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
